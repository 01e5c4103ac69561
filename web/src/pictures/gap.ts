// The gap that doctor explains: what the hardware carries, what was reached, and how much of what is
// missing each finding accounts for.
import { Child, h } from "../dom";
import { plain } from "../format";
import { Fields, fields, number, text } from "../json";
import { inOrder } from "../verdict";
import { t } from "../words";

function row(name: string, look: string, value: number, from: number, whole: number, unit: string, about: string): Child {
  const piece = h("i", { class: look });
  piece.style.marginLeft = `${(100 * from) / whole}%`;
  piece.style.width = `${(100 * value) / whole}%`;
  return h("div", { class: "ledger" }, h("span", { class: "name" }, name), h("span", { class: "bars" }, h("span", { class: "track" }, piece)),
           h("span", { class: "say" }, `${plain(value)} ${unit}`, h("span", { class: "soft why" }, about)));
}

export function gap(document: Fields): Child {
  const one = fields(document, "result", "gap");
  const expected = number(one, "expected_GBps"), observed = number(one, "observed_GBps");
  if (expected === null || observed === null || expected <= 0 || observed > expected) return null;
  let from = observed;
  const parts: Child[] = [];
  for (const finding of inOrder(document)) {
    const explained = number(finding, "explains", "value");
    if (explained === null || text(finding, "explains", "unit") !== "GB/s") continue;
    const value = Math.min(explained, expected - from);
    if (value > 0) parts.push(row(text(finding, "id"), "explained", value, from, expected, "GB/s", t("of what is missing")));
    from += Math.max(0, value);
  }
  return h("section", {}, h("h3", {}, t("The gap")),
    h("figure", {}, row(t("expected"), "measured", expected, 0, expected, "GB/s", `${t(text(one, "basis"))}: ${text(one, "source")}`),
      row(t("observed"), "bandwidth", observed, 0, expected, "GB/s", text(one, "file")), parts,
      expected - from > 0.005 * expected && parts.length > 0 &&
        row(t("not explained"), "open", expected - from, from, expected, "GB/s", t("no finding accounts for it"))));
}
