// How doctor came to its verdict: the questions in their order, what each found, and what would have
// to be known where an answer is missing.
import { Child, folded, h } from "../dom";
import { count } from "../format";
import { Fields, fields, isFields, list, text } from "../json";
import { t } from "../words";

const LOOKS: { [outcome: string]: [string, string] } = {
  found: ["warning", "!"], noted: ["noted", "i"], fine: ["fine", "\u2713"], "not there": ["unknown", "\u2013"],
};

function step(one: Fields): Child {
  const outcome = text(one, "outcome");
  const [look, sign] = LOOKS[outcome] ?? ["unknown", "\u2013"];
  const named = list(one, "findings").map(id => text(id)).filter(Boolean);
  return h("li", { class: look },
    h("span", { class: "mark", "aria-hidden": "true" }, sign),
    h("span", {}, h("b", {}, text(one, "step")), ": ", text(one, "question"), "? ",
      h("span", { class: `outcome ${look}` }, outcome),
      named.length > 0 && [" ", h("code", {}, named.join(", "))],
      outcome === "not there" && text(one, "to_know") && h("span", { class: "soft know" }, `to know it: ${text(one, "to_know")}`)));
}

export function decisions(document: Fields): Child {
  const steps = list(fields(document, "result"), "path").filter(isFields).filter(one => text(one, "question"));
  if (steps.length === 0) return null;
  const trees = new Map<string, Fields[]>();
  for (const one of steps) trees.set(text(one, "tree"), [...(trees.get(text(one, "tree")) ?? []), one]);
  return h("section", { class: "decisions" }, h("h3", {}, t("The path to the verdict")),
    [...trees].map(([tree, all]) => {
      const answered = all.filter(one => text(one, "outcome") !== "not there");
      const rest = all.filter(one => text(one, "outcome") === "not there");
      return [h("h4", {}, tree && `a job that is ${tree}`), h("ol", {}, answered.map(step)),
              rest.length > 0 && folded(`${count(rest.length, "question")} without an answer: the inputs are not there`,
                                        () => h("ol", {}, rest.map(step)), { class: "more" })];
    }));
}
