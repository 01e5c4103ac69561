// What each link of a machine carries, beside what it could: the bar is the measured rate, its field
// the ceiling that the document names; where none is known the fastest link of its kind is the field.
import { Child, h, shortened } from "../dom";
import { bandwidth, microseconds, percent } from "../format";
import { Fields, fields, isFields, list, number, text } from "../json";
import { t } from "../words";

interface Link { name: string; kind: string; rate: number; ceiling: number | null; about: string[] }

function linkOf(one: Fields): Link | null {
  const rate = number(one, "rate_GBps") ?? number(one, "beta_GBps");
  if (rate === null || rate <= 0) return null;
  const alpha = number(one, "alpha_us");
  const spread = number(one, "spread");
  const ceiling = number(one, "ceiling_GBps");
  return { name: text(one, "name"), kind: text(one, "kind"), rate, ceiling: ceiling !== null && ceiling > 0 ? ceiling : null,
           about: [alpha !== null && `alpha ${microseconds(alpha)}`, spread !== null && `${t("spread")} ${percent(spread)}`,
                   ceiling !== null && ceiling > 0 && t("of {} {} ({})", bandwidth(ceiling), text(one, "ceiling"), t(text(one, "ceiling_basis")))].filter((part): part is string => part !== false) };
}

function row(link: Link, most: number): Child {
  const field = link.ceiling ?? most;
  const bar = h("i", { class: "bandwidth" });
  bar.style.width = `${Math.min(100, (100 * link.rate) / field)}%`;
  return h("div", { class: "ledger" }, h("span", { class: "name" }, link.name),
    h("span", { class: "bars" }, h("span", { class: `track${link.ceiling === null ? "" : " ceiling"}` }, bar)),
    h("span", { class: "say" }, bandwidth(link.rate), link.ceiling !== null && ` ${percent(link.rate / link.ceiling)}`, h("span", { class: "soft why" }, link.about.join(", "))));
}

// Links that only have a latency.
function latencies(all: Fields[]): Child {
  const rows = all.filter(one => number(one, "alpha_us") !== null && number(one, "rate_GBps") === null && number(one, "beta_GBps") === null);
  if (rows.length === 0) return null;
  return [h("h4", {}, t("latency alone")), h("dl", { class: "keys" }, rows.slice(0, 60).map(one =>
    [h("dt", {}, text(one, "name")), h("dd", {}, microseconds(number(one, "alpha_us") ?? 0))]))];
}

export function links(document: Fields): Child {
  const all = list(document, "result", "links").filter(isFields).filter(one => text(one, "basis") === "measured");
  const known = all.map(linkOf).filter((one): one is Link => one !== null);
  if (known.length === 0) return null;
  const kinds = [...new Set(known.map(one => one.kind))];
  return h("section", { class: "links" }, h("h3", {}, t("Links")),
    h("p", { class: "soft" }, t("measured on {}; a framed field is what the link could carry, else the fastest of its kind fills it", text(fields(document, "result", "host"), "name") || t("this machine"))),
    kinds.map(kind => {
      const rows = known.filter(one => one.kind === kind);
      const most = rows.reduce((top, one) => Math.max(top, one.rate), 0);
      return [h("h4", {}, kind), shortened(rows, 24, one => row(one, most), t("links"))];
    }), latencies(all));
}
