// A table of counts from rank to rank as a heat map: where the routing of an MoE layer sends its
// tokens. Below it what each rank receives, because the slowest one counts.
import { Child, h } from "../dom";
import { plain } from "../format";
import { Fields, fields, isFields, list, number, numbers } from "../json";
import { color, onTheme } from "../theme";
import { tipOver } from "../tip";
import { t } from "../words";

interface Heat { values: number[][]; most: number }

const SIZE = 520;  // pixels, about

function heatOf(result: Fields): Heat | null {
  for (const part of [result, ...Object.values(result).filter(isFields)]) {
    const values = list(part, "matrix").map(row => numbers(row));
    if (values.length < 2 || values.some(row => row.length !== values.length)) continue;
    return { values, most: values.reduce((most, row) => row.reduce((a, b) => Math.max(a, b), most), 0) };
  }
  return null;
}

// From the colour of an empty field over blue to that of the text: lightness alone tells the order.
function paintOf(share: number): [number, number, number] {
  const parse = (name: string) => [1, 3, 5].map(at => parseInt(color(name).slice(at, at + 2), 16) || 0);
  const [idle, blue, text] = ["idle", "blue", "text"].map(parse);
  const mix = (a: number[], b: number[], t: number) => a.map((one, i) => Math.round(one + (b[i] - one) * t)) as [number, number, number];
  return share < 0.5 ? mix(idle, blue, share * 2) : mix(blue, text, share * 2 - 1);
}

function draw(canvas: HTMLCanvasElement, heat: Heat): void {
  const count = heat.values.length;
  canvas.width = canvas.height = count;
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  const image = pen.createImageData(count, count);
  const paints = Array.from({ length: 65 }, (_, step) => paintOf(step / 64));
  heat.values.forEach((row, y) => row.forEach((value, x) => {
    image.data.set([...paints[heat.most > 0 ? Math.round((64 * value) / heat.most) : 0], 255], 4 * (y * count + x));
  }));
  pen.putImageData(image, 0, 0);
}

function received(result: Fields): Child {
  const all = list(result, "ranks").map(rank => number(rank, "received"));
  const known = all.filter((one): one is number => one !== null);
  if (known.length < 2) return null;
  const most = known.reduce((a, b) => Math.max(a, b)), mean = known.reduce((a, b) => a + b) / known.length;
  const bars = h("div", { class: "columns", role: "img", "aria-label": t("What each rank receives") });
  for (const value of known) {
    const bar = h("i", { class: value === most ? "hot" : "" });
    bar.style.height = `${most > 0 ? (100 * value) / most : 0}%`;
    bars.append(bar);
  }
  tipOver(bars, event => {
    const box = bars.getBoundingClientRect();
    const rank = Math.floor(((event.clientX - box.left) / box.width) * known.length);
    return known[rank] === undefined ? "" : t("rank {} receives {}, {} times the mean", rank, known[rank], plain(known[rank] / mean, 3));
  });
  return [h("h4", {}, t("What each rank receives")), bars];
}

export function heatMap(document: Fields): Child {
  const result = fields(document, "result");
  const heat = heatOf(result);
  if (heat === null) return null;
  const canvas = h("canvas", { class: "heat", role: "img", "aria-label": t("pairs of token and expert, from rank to rank") });
  const count = heat.values.length;
  canvas.style.maxWidth = `${Math.max(1, Math.round(SIZE / count)) * count}px`;
  draw(canvas, heat);
  onTheme(() => draw(canvas, heat));
  tipOver(canvas, event => {
    const box = canvas.getBoundingClientRect();
    const at = (part: number, whole: number) => Math.min(count - 1, Math.max(0, Math.floor((part / whole) * count)));
    const from = at(event.clientY - box.top, box.height), to = at(event.clientX - box.left, box.width);
    return t("from rank {} to rank {}: {} pairs", from, to, heat.values[from][to]);
  });
  const routing = [result, ...Object.values(result).filter(isFields)].find(part => list(part, "ranks").some(rank => number(rank, "received") !== null));
  return h("section", {}, h("h3", {}, t("Where the tokens go")),
    h("figure", {}, canvas, h("figcaption", {}, t("rows: from rank 0 (top) to {}; columns: to rank 0 (left) to {}; the stronger the colour, the more pairs of a token and an expert, up to {}", count - 1, count - 1, heat.most)), routing && received(routing)));
}
