// Machines side by side: each line is one, each column something that machines have in common; a
// field says in how many statements it differs from what it is compared with. Those that differ
// most stand first.
import { Child, folded, h, s, shortened } from "../dom";
import { Fields, fields, isFields, list, text } from "../json";
import { count, t } from "../words";

const CELL = { least: 92, height: 24 };
const NAME = 210;
const MOST = 200;

const words = (one: Fields): string =>
  `${text(one, "device")}${text(one, "other") ? ` \u2013 ${text(one, "other")}` : ""}, ${text(one, "aspect")}: ` +
  t("{} here, {} elsewhere", text(one, "here") || t("absent"), text(one, "elsewhere") || t("absent")) +
  (text(one, "asked") ? ` (${t("{} of {} machines", text(one, "agreeing"), text(one, "asked"))})` : "");

interface Line { machine: string; all: Fields[]; isOdd: boolean }

function linesOf(result: Fields): Line[] {
  const odd = new Set(list(result, "odd").map(one => text(one)));
  const all = list(result, "differences").filter(isFields);
  return list(result, "machines").map(one => text(one))
    .map(machine => ({ machine, all: all.filter(one => text(one, "machine") === machine), isOdd: odd.has(machine) }))
    .sort((a, b) => b.all.length - a.all.length);
}

const fit = (name: string): string => name.length > 30 ? `\u2026${name.slice(-29)}` : name;

function drawing(lines: Line[], aspects: string[]): Child {
  const wide = aspects.reduce((most, aspect) => Math.max(most, 6.6 * aspect.length + 12), CELL.least);
  const width = NAME + aspects.length * wide, height = 26 + lines.length * CELL.height;
  const picture = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": t("what differs, by machine") },
    aspects.map((aspect, column) => s("text", { x: NAME + column * wide + wide / 2, y: 15, "text-anchor": "middle", "font-size": 11.5, class: "soft" }, aspect)));
  lines.forEach((line, row) => {
    const y = 24 + row * CELL.height;
    picture.append(s("text", { x: 0, y: y + 15, "font-size": 12, class: line.isOdd ? "culprit" : "" }, fit(line.machine), s("title", {}, line.machine)));
    aspects.forEach((aspect, column) => {
      const here = line.all.filter(one => text(one, "aspect") === aspect);
      const x = NAME + column * wide;
      const says = here.slice(0, 8).map(words).join("\n") + (here.length > 8 ? `\n${t("and {} more", here.length - 8)}` : "");
      picture.append(s("g", {}, s("title", {}, says || t("no difference")),
        s("rect", { x: x + 1, y: y + 1, width: wide - 2, height: CELL.height - 2, rx: 2, class: `cell ${here.length > 0 ? "waits" : "even"}` }),
        here.length > 0 && s("text", { x: x + wide / 2, y: y + 16, "text-anchor": "middle", "font-size": 12, class: "on waits" }, String(here.length))));
    });
  });
  return h("div", { class: "wide", tabindex: 0 }, picture);
}

export function differences(document: Fields): Child {
  const result = fields(document, "result");
  const lines = linesOf(result);
  if (lines.length < 2 || !Array.isArray(result.differences)) return null;
  const aspects = [...new Set(lines.flatMap(line => line.all.map(one => text(one, "aspect"))))].slice(0, 12);
  if (aspects.length === 0) return null;
  const shownLines = lines.slice(0, MOST);
  return h("section", { class: "differences" }, h("h3", {}, t("What differs")),
    h("p", { class: "soft" }, t("compared with {}; how many statements differ, by kind", text(result, "compared_with") === "majority" ? t("the majority of the machines") : text(result, "compared_with"))),
    drawing(shownLines, aspects), lines.length > MOST && h("p", { class: "soft" }, t("and {} more", count(lines.length - MOST, "machine"))),
    lines.filter(line => line.all.length > 0).slice(0, 40).map(line =>
      folded(`${line.machine}: ${count(line.all.length, "difference")}`,
             () => h("ul", {}, shortened(line.all, 60, one => h("li", {}, words(one)), t("differences"))), { class: "part" })));
}
