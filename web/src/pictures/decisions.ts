// How doctor came to its verdict: the questions in their order, what each found, and what would have
// to be known where an answer is missing.
import { Child, folded, h } from "../dom";
import { Fields, fields, isFields, list, text } from "../json";
import { count, t, w } from "../words";

const LOOKS: { [outcome: string]: [string, string] } = {
  [w("found")]: ["warning", "!"], [w("noted")]: ["noted", "i"], [w("fine")]: ["fine", "\u2713"], [w("not there")]: ["unknown", "\u2013"],
};

function step(one: Fields): Child {
  const outcome = text(one, "outcome");
  const [look, sign] = LOOKS[outcome] ?? ["unknown", "\u2013"];
  const named = list(one, "findings").map(id => text(id)).filter(Boolean);
  return h("li", { class: look },
    h("span", { class: "mark", "aria-hidden": "true" }, sign),
    h("span", {}, h("b", {}, text(one, "step")), ": ", `${text(one, "question")}? `,
      h("span", { class: `outcome ${look}` }, t(outcome)),
      named.length > 0 && [" ", h("code", {}, named.join(", "))],
      outcome === "not there" && text(one, "to_know") && h("span", { class: "soft know" }, `${t("to know it")}: ${text(one, "to_know")}`)));
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
      return [h("h4", {}, tree && t("a job that is {}", t(tree))), h("ol", {}, answered.map(step)),
              rest.length > 0 && folded(t("{} without an answer: the inputs are not there", count(rest.length, "question")),
                                        () => h("ol", {}, rest.map(step)), { class: "more" })];
    }));
}
