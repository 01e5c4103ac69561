// Ledgers as bars: which part of a time are steps (latency), which part bytes (bandwidth). Each bar
// is its own time, because times of one sweep lie a million apart; beside a measured time both share
// one scale, and so do the candidates of one size.
import { Child, h, shortened } from "../dom";
import { bandwidth, bytes, microseconds, percent } from "../format";
import { Fields, fields, isFields, list, number, text } from "../json";
import { t } from "../words";

interface Row {
  label: string;
  latency: number;
  bandwidth: number;
  time: number;
  measured: number | null;
  gap: number | null;
  explained: string;
}

function rowOf(ledger: Fields, label: string, step: Fields = {}): Row | null {
  const latency = number(ledger, "latency_us");
  const bandwidth = number(ledger, "bandwidth_us");
  if (latency === null || bandwidth === null) return null;
  return {
    label, latency, bandwidth,
    time: number(step, "predicted_us") ?? number(ledger, "time_us") ?? latency + bandwidth,
    measured: number(step, "measured", "time_us"),
    gap: number(step, "gap"),
    explained: list(step, "explained_by").map(one => text(one)).join("; "),
  };
}

const isRow = (row: Row | null): row is Row => row !== null;
const methodOf = (ledger: Fields): string =>
  [text(ledger, "algorithm"), text(ledger, "protocol")].filter(Boolean).join(" ");

// `nccl choose` of one size: what is taken first, then all that it was compared with.
function candidatesOf(rows: Fields[]): Fields[] {
  const [row] = rows;
  if (row === undefined || rows.length > 1 || list(row, "candidates").length === 0) return [];
  const others = list(row, "candidates").filter(isFields).filter(one => methodOf(one) !== methodOf(row));
  return [row, ...others.sort((a, b) => (number(a, "time_us") ?? 0) - (number(b, "time_us") ?? 0))];
}

function rowsOf(result: Fields): Row[] {
  const steps = list(result, "steps").filter(isFields);
  if (steps.some(step => isFields(step.ledger)))
    return steps.map(step => rowOf(fields(step, "ledger"), text(step, "name"), step)).filter(isRow);
  const ledgers = list(result, "ledgers").filter(isFields);
  if (ledgers.length > 0) return ledgers.map(one => rowOf(one, methodOf(one))).filter(isRow);
  const rows = list(result, "rows").filter(isFields);
  const all = candidatesOf(rows);
  if (all.length > 0) return all.map(one => rowOf(one, methodOf(one))).filter(isRow);
  if (rows.some(one => number(one, "latency_us") !== null))
    return rows.map(one => rowOf(one, `${bytes(number(one, "bytes") ?? 0)}, ${methodOf(one)}`)).filter(isRow);
  return [rowOf(result, `${bytes(number(result, "bytes") ?? 0)}, ${methodOf(result)}`)].filter(isRow);
}

function part(look: string, share: number): HTMLElement {
  const piece = h("i", { class: look });
  piece.style.width = `${Math.max(0, 100 * share)}%`;
  return piece;
}

function bars(row: Row, whole: number | null): Child {
  const most = whole ?? Math.max(row.time, row.measured ?? 0, 1e-300);
  const ledger = h("span", { class: "track" }, part("latency", row.latency / most), part("bandwidth", row.bandwidth / most));
  const measured = row.measured !== null && h("span", { class: "track thin" }, part("measured", row.measured / most));
  const share = row.latency + row.bandwidth > 0 ? row.latency / (row.latency + row.bandwidth) : 0;
  return h("div", { class: "ledger" },
    h("span", { class: "name" }, row.label),
    h("span", { class: "bars", title: t("latency {}, bandwidth {}", microseconds(row.latency), microseconds(row.bandwidth)) },
      ledger, measured),
    h("span", { class: "say" }, microseconds(row.time), h("span", { class: "soft" }, ` ${t("steps")} ${percent(share)}`),
      row.measured !== null && [h("br"), microseconds(row.measured),
        h("span", { class: "soft" }, ` ${t("measured")}${row.gap === null ? "" : `, ${row.gap >= 0 ? "+" : ""}${percent(row.gap)}`}`)],
      row.explained && h("span", { class: "soft why" }, row.explained)));
}

// The terms of one ledger, each as its part of the whole.
function terms(result: Fields): Child {
  const all = list(result, "terms").filter(isFields);
  const whole = number(result, "time_us") ?? 0;
  if (all.length === 0 || whole <= 0) return null;
  return [h("h4", {}, t("its terms")), all.map(term => h("div", { class: "ledger" },
    h("span", { class: "name" }, text(term, "name")),
    h("span", { class: "bars" }, h("span", { class: "track" },
      part("latency", (number(term, "latency_us") ?? 0) / whole), part("bandwidth", (number(term, "bandwidth_us") ?? 0) / whole))),
    h("span", { class: "say" }, microseconds(number(term, "time_us") ?? 0),
      h("span", { class: "soft why" }, text(term, "reason")))))];
}

// Which link a calculation reckons with, and who says so.
function linkText(result: Fields): Child {
  const alpha = number(result, "alpha_us"), beta = number(result, "beta_GBps"), inputs = fields(result, "inputs");
  if (alpha === null || beta === null || !text(inputs, "source")) return null;
  return h("p", { class: "soft" }, t("the link: alpha {}, beta {} ({}: {})", microseconds(alpha), bandwidth(beta), t(text(inputs, "basis")), text(inputs, "source")));
}

export function ledgers(document: Fields): Child {
  const result = fields(document, "result");
  const rows = rowsOf(result);
  if (rows.length === 0) return null;
  const isMeasured = rows.some(row => row.measured !== null);
  const isOneSize = candidatesOf(list(result, "rows").filter(isFields)).length > 0;
  const whole = isOneSize ? rows.reduce((most, row) => Math.max(most, row.time), 1e-300) : null;
  return h("section", {}, h("h3", {}, rows.length === 1 ? t("The ledger") : t("Ledgers")),
    linkText(result),
    h("p", { class: "legend" }, h("span", {}, h("i", { class: "latency" }), t("latency: steps")),
      h("span", {}, h("i", { class: "bandwidth" }), t("bandwidth: bytes")),
      isMeasured && h("span", {}, h("i", { class: "measured" }), t("measured")),
      h("span", {}, isMeasured ? t("the longer of the two times fills the row")
        : whole !== null ? t("{}: the first is taken; one scale, its end is {}", bytes(number(result, "rows", 0, "bytes") ?? 0), microseconds(whole))
        : t("each row is its own time"))),
    h("figure", {}, shortened(rows, 60, row => bars(row, whole), t("rows")), terms(result)));
}
