// Findings: the sentence, what was expected and seen, the lines that prove it, the next command.
import { commandOf } from "./command";
import { Child, folded, h, shortened } from "./dom";
import { bytes, microseconds, plain, ranks } from "./format";
import { Fields, fields, list, number, numbers, text } from "./json";
import { inOrder } from "./verdict";
import { explained, t, w } from "./words";

const SIGNS: { [severity: string]: string } = { error: "\u2715", warning: "!", info: "i" };

const inUnit = (size: number, unit: string): string =>
  unit === "us" ? microseconds(size) : unit === "B" ? bytes(size) : `${plain(size)} ${unit}`;

function figure(name: string, value: Fields): Child {
  const size = number(value, "value");
  if (size === null) return null;
  const basis = [t(text(value, "basis")), text(value, "source")].filter(Boolean).join(": ");
  return [h("dt", { class: name }, t(name)),
          h("dd", {}, h("b", {}, inUnit(size, text(value, "unit"))), " ",
            h("span", { class: "soft" }, basis && `(${basis})`))];
}

// Two figures of one unit as bars of one scale.
function bars(finding: Fields): Child {
  const expected = number(finding, "expected", "value");
  const observed = number(finding, "observed", "value");
  const sameUnit = text(finding, "expected", "unit") === text(finding, "observed", "unit");
  if (expected === null || observed === null || !sameUnit || expected < 0 || observed < 0) return null;
  const most = Math.max(expected, observed, 1e-300);
  const bar = (look: string, value: number): Child => {
    const line = h("i", { class: look });
    line.style.width = `${(100 * value) / most}%`;
    return h("span", { class: "track" }, line);
  };
  return h("div", { class: "pair", "aria-hidden": "true" },
           bar("expected", expected), bar("observed", observed));
}

function evidence(one: Fields): Child {
  const line = text(one, "line");
  return h("li", {}, h("span", { class: "where" }, text(one, "source"), line && `:${line}`),
           h("code", {}, text(one, "text")));
}

// A command can be run, other advice only read.
function next(action: string): Child {
  const found = commandOf(action);
  if (found === null) return h("li", {}, action);
  const command = h("code", {}, found.command);
  const copy = (event: Event) => {
    const button = event.currentTarget as HTMLElement;
    getSelection()?.selectAllChildren(command);
    void navigator.clipboard?.writeText(found.command).then(() => { button.textContent = t("copied"); }, () => {});
  };
  return h("li", {}, command, h("button", { class: "copy", title: t("copy the command"), click: copy }, t("copy")),
           found.remark && h("span", { class: "soft" }, ` ${found.remark}`));
}

// In another language than English: what this kind of finding means.
const inWords = (document: Fields, id: string, names: string[]): Child => {
  const known = names.filter(name => explained(document, id, name));
  return known.length > 0 && h("dl", {}, known.map(name =>
    [h("dt", { class: name }, t(name)), h("dd", {}, explained(document, id, name))]));
};

export function finding(document: Fields, one: Fields, isOpen: boolean): Child {
  const id = text(one, "id");
  const severity = text(one, "severity");
  const proofs = list(one, "evidence").map(each => fields(each));
  const actions = list(one, "next").map(each => text(each));
  const where = numbers(one, "ranks");
  const about = [t(`${text(one, "layer")} layer`), t(text(one, "confidence"))];
  if (where.length > 0) about.push(ranks(where));
  const head: Child = [
    h("span", { class: `badge ${severity}` }, h("span", { "aria-hidden": "true" }, SIGNS[severity] ?? "?"),
      ` ${t(severity)}`),
    h("span", { class: "claim" }, text(one, "summary"),
      h("span", { class: "about" }, h("code", {}, id), " ", about.join(" \u00b7 ")))];
  const build = (): Child => h("div", { class: "proof" },
    bars(one),
    inWords(document, id, [w("meaning")]),
    h("dl", {}, figure(w("expected"), fields(one, "expected")), figure(w("observed"), fields(one, "observed")),
      figure(w("explains"), fields(one, "explains"))),
    proofs.length > 0 && [h("h4", {}, t("evidence")),
                          h("ul", { class: "evidence" }, shortened(proofs, 30, evidence, t("lines")))],
    actions.length > 0 && [h("h4", {}, t("next")), h("ul", { class: "next" }, actions.map(next))],
    inWords(document, id, [w("cause"), w("cure")]),
    h("p", { class: "soft" }, t("cause and cure: "), h("code", {}, `comm-probe explain ${id}`)));
  const element = folded(head, build, { class: `finding ${severity}` });
  if (isOpen) element.dispatchEvent(new Event("build"));
  return element;
}

// Where one id was said more than twenty times, five stand in full and the others are folded.
export function findings(document: Fields): Child {
  const all = inOrder(document);
  if (all.length === 0) return null;
  const groups = new Map<string, Fields[]>();
  for (const one of all) {
    const id = text(one, "id");
    groups.set(id, [...(groups.get(id) ?? []), one]);
  }
  let isFirst = true;
  const parts: Child[] = [];
  for (const group of groups.values())
    parts.push(shortened(group, group.length > 20 ? 5 : 20, one => {
      const isOpen = isFirst && text(one, "severity") !== "info";
      isFirst = false;
      return finding(document, one, isOpen);
    }, t("of {}", text(group[0], "id"))));
  return h("section", { class: "findings" }, h("h3", {}, t("Findings")), parts);
}
