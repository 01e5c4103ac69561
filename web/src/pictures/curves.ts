// busbw over the size of the message: what was measured, what was predicted, where the knee and the
// plateau are, and the band that healthy runs of this hardware reach.
import { Chart, Line, Mark, drawChart, lineColor, lineDash } from "../chart";
import { Child, h } from "../dom";
import { bandwidth, bytes, microseconds } from "../format";
import { Fields, fields, isFields, list, number, text } from "../json";
import { t, w } from "../words";

const MOST_SHOWN = 8;

export interface Curve {
  name: string;
  rows: Fields[];
  facts: Fields;  // fit, plateau, reference, nccl_model
  model: Fields[];  // what NCCL's model gives for every size, where the page has it
}

const fileOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

function nameOf(curve: Fields): string {
  const ranks = number(curve, "ranks");
  const parts = [text(curve, "op") || t("transfer")];
  if (ranks !== null) parts.push(t("on {} ranks", ranks));
  if (text(curve, "file")) parts.push(fileOf(text(curve, "file")));
  if (text(curve, "label")) parts.push(text(curve, "label"));
  return parts.join(" ");
}

export function curvesOf(document: Fields): Curve[] {
  const result = fields(document, "result");
  // doctor has the curves of its pile among the pictures
  const all = list(result, "curves").length > 0 ? list(result, "curves") : list(document, "pictures", "curves");
  const curves = all.filter(isFields).filter(one => list(one, "rows").length > 0);
  if (curves.length > 0)
    return curves.map(one => ({ name: nameOf(one), rows: list(one, "rows").filter(isFields), facts: one,
                                model: list(document, "pictures", "predicted", all.indexOf(one)).filter(isFields) }));
  const rows = list(result, "rows").filter(isFields);
  if (!rows.some(row => number(row, "busbw_GBps") !== null && number(row, "bytes") !== null)) return [];
  return [{ name: nameOf(result), rows, facts: result, model: [] }];
}

type Value = "busbw" | "time";

// The bytes that count, over the size: nccl-tests' factor from algbw to busbw.
function factorOf(facts: Fields): number {
  const ranks = number(facts, "ranks") ?? 0, op = text(facts, "op");
  if (ranks < 2) return 1;
  if (op === "all_reduce") return (2 * (ranks - 1)) / ranks;
  return ["all_gather", "reduce_scatter", "all_to_all"].includes(op) ? (ranks - 1) / ranks : 1;
}

// nccl-tests prints two digits after the point: a busbw of 0 stands for what size and time say.
function busbwOf(row: Fields, facts: Fields): number {
  const printed = number(row, "busbw_GBps"), time = number(row, "time_us"), size = number(row, "bytes");
  if (printed !== 0 || time === null || time <= 0 || size === null) return printed ?? NaN;
  return (factorOf(facts) * size) / time / 1e3;
}

const pointsOf = (curve: Curve, value: Value, inPlace: boolean): [number, number][] =>
  curve.rows.filter(row => (row.in_place === true) === inPlace)
      .map(row => [number(row, "bytes") ?? 0, value === "time" ? number(row, "time_us") ?? NaN : busbwOf(row, curve.facts)] as [number, number])
      .filter(point => Number.isFinite(point[1]));

// A predicted time as busbw: the bytes that count are those of the measurement in the same row.
function predicted(rows: Fields[], value: Value): [number, number][] {
  const points: [number, number][] = [];
  for (const row of rows) {
    const time = number(row, "predicted_us");
    const measured = number(row, "time_us");
    const busbw = number(row, "busbw_GBps");
    if (time === null || time <= 0 || measured === null || busbw === null || row.in_place === true) continue;
    points.push([number(row, "bytes") ?? 0, value === "time" ? time : (busbw * measured) / time]);
  }
  return points;
}

// A colour for each algorithm, a dash for each protocol; the colour of what is taken is none of them.
const DASHES: { [protocol: string]: number[] } = { Simple: [], LL128: [9, 5], LL: [2, 4] };

// Every algorithm and protocol that `nccl choose` compared, size by size.
function candidates(rows: Fields[], value: Value): Line[] {
  const lines = new Map<string, [number, number][]>();
  // what is taken stands on the line of its own algorithm as well
  for (const row of rows)
    for (const one of list(row, "candidates").length > 0 ? [row, ...list(row, "candidates")] : []) {
      const time = number(one, "time_us"), taken = number(row, "time_us"), busbw = number(row, "busbw_GBps");
      if (time === null || time <= 0 || taken === null || busbw === null) continue;
      const name = `${text(one, "algorithm")} ${text(one, "protocol")}`;
      if (!lines.has(name)) lines.set(name, []);
      lines.get(name)?.push([number(row, "bytes") ?? 0, value === "time" ? time : (busbw * taken) / time]);
    }
  const algorithms = [...new Set([...lines.keys()].map(name => name.split(" ")[0]))];
  return [...lines].sort().map(([name, points]) => {
    const [algorithm, protocol] = name.split(" ");
    return { name, points, color: `c${1 + (algorithms.indexOf(algorithm) % 5)}`, dash: DASHES[protocol] ?? [], width: 1.6,
             isHollow: protocol !== "Simple" };
  });
}

const isMeasured = (rows: Fields[]): boolean => rows.some(row => "in_place" in row);

const modelPoints = (curve: Curve, value: Value): [number, number][] =>
  (curve.model.length > 0 ? curve.model : [fields(curve.facts, "nccl_model", "smallest"), fields(curve.facts, "nccl_model", "plateau")])
    .map(one => [number(one, "bytes") ?? 0, number(one, value === "time" ? "time_us" : "busbw_GBps") ?? NaN] as [number, number])
    .filter(point => point[0] > 0 && Number.isFinite(point[1]));

function linesOf(curves: Curve[], value: Value): Line[] {
  const lines: Line[] = [];
  const isAlone = curves.length === 1;
  curves.forEach((curve, index) => {
    const isShown = index < MOST_SHOWN;
    const word = isMeasured(curve.rows) ? t("measured") : t("predicted: what is taken");
    const name = isAlone ? word : curve.name;
    const outside = pointsOf(curve, value, false);
    const inside = pointsOf(curve, value, true);
    if (outside.length > 0)
      lines.push({ name: isAlone && inside.length > 0 ? t("measured, out of place") : name, points: outside,
                   color: lineColor(index), dash: lineDash(index), isShown, width: isMeasured(curve.rows) ? undefined : 3.4 });
    if (inside.length > 0 && (isAlone || outside.length === 0))
      lines.push({ name: t("measured, in place"), points: inside, color: isAlone ? "c2" : lineColor(index),
                   dash: [3, 3], isShown: outside.length === 0 });
    if (!isAlone) return;
    const ours = predicted(curve.rows, value);
    if (ours.length > 0) lines.push({ name: t("predicted"), points: ours, color: "c1", dash: [7, 5] });
    const model = modelPoints(curve, value);
    lines.push(...candidates(curve.rows, value));
    if (model.length > 0) lines.push({ name: t("NCCL's model"), points: model, color: "c3", dash: [7, 4], isPoints: curve.model.length === 0 });
  });
  return lines;
}

// The band between nodes is that of a ring. Where NCCL's model takes a tree, or adds in the switch, healthy runs lie elsewhere.
const isOfThisRun = (facts: Fields): boolean =>
  (number(facts, "nodes") ?? 1) < 2 || !/tree|nvls|collnet/.test(text(facts, "nccl_model", "plateau", "algorithm"));

function marksOf(facts: Fields, value: Value): Pick<Chart, "band" | "levels" | "sizes"> {
  const sizes: Mark[] = [];
  const knee = number(facts, "fit", "knee_bytes");
  if (knee !== null && knee > 0) sizes.push({ at: knee, name: `${t("knee")} ${bytes(knee)}`, color: "c4" });
  const isOpen = fields(facts, "plateau").saturated === false;  // the verdict says that no plateau is seen
  const ninety = isOpen ? null : number(facts, "plateau", "measured90_bytes");
  if (ninety !== null) sizes.push({ at: ninety, name: t("90 % of the peak from {}", bytes(ninety)), color: "soft" });
  if (value === "time") return { sizes };
  const levels: Mark[] = [];
  const plateau = isOpen ? null : number(facts, "plateau", "busbw_GBps") ?? number(facts, "fit", "plateau_busbw_GBps");
  if (plateau !== null) levels.push({ at: plateau, name: `${t("plateau")} ${bandwidth(plateau)}`, color: "c0" });
  const low = number(facts, "reference", "low_GBps");
  const high = number(facts, "reference", "high_GBps");
  const band = low !== null && high !== null && isOfThisRun(facts)
    ? { low, high, name: t("reference: {} to {}", bandwidth(low), bandwidth(high)) } : undefined;
  return { sizes, levels, band };
}

function chartOf(curves: Curve[], value: Value): Chart {
  const alone = curves.length === 1 ? marksOf(curves[0].facts, value) : {};
  return { title: value === "time" ? t("time over message size") : t("busbw over message size"),
           lines: linesOf(curves, value), isLog: value === "time",
           format: value === "time" ? microseconds : bandwidth, ...alone };
}

function caption(curve: Curve): Child {
  const said: string[] = [];
  const reference = text(curve.facts, "reference", "source");
  if (reference) said.push(`${isOfThisRun(curve.facts) ? t("the green band") : t("no band is drawn: NCCL's model takes {} here, and the reference of {} to {} is that of a ring", text(curve.facts, "nccl_model", "plateau", "algorithm"), bandwidth(number(curve.facts, "reference", "low_GBps") ?? 0), bandwidth(number(curve.facts, "reference", "high_GBps") ?? 0))}: ${reference} (${t(text(curve.facts, "reference", "basis"))})`);
  const model = text(curve.facts, "nccl_model", "source");
  if (model) said.push(`${t("NCCL's model")}: ${model}`);
  const latency = number(curve.facts, "left_end", "latency_us");
  if (latency !== null) said.push(t("smallest messages take {}", microseconds(latency)));
  const standing = text(curve.facts, "standing");
  if (standing) said.push(`${t("standing")}: ${t(standing)}`);
  if (fields(curve.facts, "plateau").saturated === false) said.push(t("its sizes show no plateau: none is drawn"));
  if (list(curve.rows[0], "candidates").length > 0) said.push(t("a colour is an algorithm; its line is dotted for LL, dashed for LL128, full for Simple"));
  return said.length > 0 && h("figcaption", {}, said.join("; "));
}

function section(all: Curve[], title: string): Child {
  const place = h("div", {});
  const buttons = new Map<Value, HTMLElement>();
  const show = (value: Value) => {
    place.replaceChildren(drawChart(chartOf(all, value)));
    for (const [name, button] of buttons) button.setAttribute("aria-pressed", String(name === value));
  };
  for (const value of ["busbw", "time"] as const) buttons.set(value, h("button", { click: () => show(value) }, value === "time" ? t("time") : value));
  show("busbw");
  return h("section", { class: "curves" }, h("h3", {}, t(title)),
    h("p", { class: "tools" }, [...buttons.values()]), place,
    all.length === 1 ? caption(all[0])
      : h("figcaption", {}, all.length > MOST_SHOWN
          ? t("{} of {} curves are shown at first; the boxes choose", MOST_SHOWN, all.length) : t("the boxes choose what is shown")));
}

export function curves(document: Fields): Child {
  const all = curvesOf(document);
  // candidates of one size stand as bars among the ledgers
  const sizes = new Set(all.flatMap(one => one.rows.map(row => number(row, "bytes"))));
  if (sizes.size === 1 && list(all[0].rows[0], "candidates").length > 0) return null;
  return all.length > 0 && section(all, w("Bandwidth over the size of the message"));
}

// The curves of several results in one picture, where more than one has any.
export function curvesTogether(documents: Fields[]): Child {
  const each = documents.map(curvesOf).filter(all => all.length > 0);
  return each.length > 1 && section(each.flat(), w("All curves over the size of the message"));
}
