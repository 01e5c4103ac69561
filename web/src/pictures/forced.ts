// What it costs to force another algorithm or protocol with NCCL_ALGO or NCCL_PROTO, size by size: times the time of
// what NCCL takes.
import { Child, folded, h } from "../dom";
import { bytes, microseconds, plain } from "../format";
import { Fields, fields, isFields, list, number, text } from "../json";
import { t } from "../words";

const FIRST = 40;

const forcedOf = (row: Fields): Fields[] => list(row, "forced").filter(isFields);

function cell(row: Fields, setting: string): Child {
  const one = forcedOf(row).find(each => text(each, "setting") === setting);
  const ratio = number(one, "ratio");
  if (one === undefined || ratio === null) return h("td", { class: "taken" }, "\u2013");
  const method = `${text(one, "algorithm")} ${text(one, "protocol")}`;
  const title = t("{} leaves {}: {}", setting, method, microseconds(number(one, "time_us") ?? 0));
  if (method === `${text(row, "algorithm")} ${text(row, "protocol")}`) return h("td", { class: "taken", title }, t("taken"));
  const look = h("td", { class: "cost", title }, `${plain(ratio, 3)}x ${text(one, "pays") === "latency" ? t("steps") : t("bytes")}`);
  look.style.setProperty("--part", `${Math.max(0, Math.min(70, 22 * Math.log2(ratio)))}%`);
  return look;
}

export function forced(document: Fields): Child {
  const rows = list(fields(document, "result"), "rows").filter(isFields).filter(row => forcedOf(row).length > 0);
  if (rows.length === 0) return null;
  const settings = [...new Set(rows.flatMap(row => forcedOf(row).map(one => text(one, "setting"))))];
  const names = [...new Set(settings.map(setting => setting.split("=")[0]))];
  const groups = names.map(name => settings.filter(setting => setting.split("=")[0] === name));
  const line = (row: Fields) => h("tr", {}, h("td", {}, bytes(number(row, "bytes") ?? 0)), groups.flat().map(setting => cell(row, setting)));
  const table = (some: Fields[]) => h("div", { class: "wide", tabindex: 0 }, h("table", { class: "forced" },
    h("thead", {}, h("tr", {}, h("th", {}), groups.map((all, index) => h("th", { colspan: all.length }, names[index]))),
      h("tr", {}, h("th", {}, t("size")), groups.flat().map(setting => h("th", {}, setting.slice(setting.indexOf("=") + 1))))),
    h("tbody", {}, some.map(line))));
  return h("section", { class: "forcing" }, h("h3", {}, t("What forcing another one costs")),
    table(rows.slice(0, FIRST)), rows.length > FIRST && folded(t("{} more rows", rows.length - FIRST), () => table(rows.slice(FIRST, 1000)), { class: "more" }),
    h("p", { class: "soft" }, t("times the time of what is taken, with the best that the setting would leave, and what pays for it: steps (latency) or bytes (bandwidth); NCCL's own estimate")));
}
