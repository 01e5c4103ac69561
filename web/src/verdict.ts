// The top of a document: what limits it, the verdict in one sentence, its layer and how sure it is.
import { Child, folded, h, shortened } from "./dom";
import { count } from "./format";
import { Fields, fields, list, number, text } from "./json";
import { explained, t, verdictOf } from "./words";

export const SEVERITIES = ["error", "warning", "info"];
export const findingsOf = (document: Fields): Fields[] =>
  list(document, "findings").map(one => fields(one));

// As the terminal shows them: the worst first, but for commands that rank them themselves.
export function inOrder(document: Fields): Fields[] {
  const all = findingsOf(document);
  if (text(document, "command") === "doctor") return all;
  const place = (one: Fields) => (SEVERITIES.indexOf(text(one, "severity")) + 4) % 4;
  return [...all].sort((a, b) => place(a) - place(b));
}

// Commands that only calculate or show say nothing about right and wrong.
const SHOWING = ["calc", "explain", "machines", "lab", "sim"];
const isShowing = (document: Fields): boolean => {
  const command = text(document, "command"), result = fields(document, "result");
  return SHOWING.includes(command.split(" ")[0]) || (command === "topo" && Array.isArray(result.paths)) ||
    (command === "nccl" && !Array.isArray(result.settings));  // plan and choose; `nccl env` judges its settings
};

export type Standing = "error" | "warning" | "limited" | "below" | "partly" | "facts" | "fine";

// A curve is judged where something says what it should reach; a baseline does, and no caveat is written then.
const UNJUDGED = ["not saturated", "path not known", "on a shared GPU", "without rows"];
function ofCurves(document: Fields): Standing {
  const all = list(document, "result", "curves").map(one => text(one, "standing"));
  if (all.some(one => one.startsWith("below"))) return "below";
  const hasNoReference = list(document, "caveats").some(one => text(one, "id") === "curve.no-reference");
  const open = all.filter(one => UNJUDGED.includes(one) || (hasNoReference && one === "without a reference")).length;
  return open === 0 ? "fine" : open === all.length ? "facts" : "partly";
}

// The same rule as the exit status, but that its 0 has four words: nothing is fine that nobody judged.
export function standing(document: Fields): Standing {
  const all = findingsOf(document).map(one => text(one, "severity"));
  if (all.includes("error")) return "error";
  if (all.includes("warning")) return "warning";
  if (list(document, "caveats").some(limits)) return "limited";
  return isShowing(document) ? "facts" : ofCurves(document);
}
export const STANDING_WORDS: { [state in Standing]: string } = {
  error: "error found", warning: "warning found", limited: "limited", below: "below what is usual",
  partly: "not all judged", facts: "facts, not judged", fine: "nothing wrong found",
};
const SIGNS: { [state in Standing]: string } = {
  error: "\u2715", warning: "!", limited: "?", below: "i", partly: "i", facts: "i", fine: "\u2713",
};

const limits = (caveat: Fields[string]): boolean => fields(caveat).limits !== false;

const caveat = (document: Fields, one: Fields): Child =>
  h("p", { class: limits(one) ? "caveat limits" : "caveat" },
    h("b", {}, t(limits(one) ? "limited" : "note"), " "), h("code", {}, text(one, "id")),
    ` ${t("missing")}: `, text(one, "missing"), "; ", h("span", { class: "soft" }, text(one, "effect")),
    ["meaning", "cure"].map(name => {
      const words = explained(document, text(one, "id"), name);
      return words && h("span", { class: "soft words" }, ` ${t(name)}: ${words}`);
    }));

function caveats(document: Fields, limiting: boolean): Child[] {
  const all = list(document, "caveats").filter(one => limits(one) === limiting).map(one => fields(one));
  return shortened(all, 4, one => caveat(document, one), t("caveats"));
}

// Of a document whose command writes no sentence: what kind of thing it is.
function sentence(document: Fields): string {
  const verdict = text(document, "verdict");
  if (verdict) return verdict;
  const { op, algorithm, ranks } = fields(document, "result");
  if (op && ranks) return `${text(op)} on ${text(ranks)} ranks${algorithm ? ", " + text(algorithm) : ""}`;
  return `the result of comm-probe ${text(document, "command")}`;
}

// Other languages have the word with "layer" behind it, as the findings say it.
const layerName = (layer: string): string => {
  const whole = `${layer} layer`, said = t(whole);
  return said === whole ? layer : said;
};

// "slow (rdma layer, certain): ..." says layer and confidence itself; the others have them in the
// finding that decides.
export function verdictCard(document: Fields): Child {
  const state = standing(document);
  const worst = inOrder(document).find(one => text(one, "severity") !== "info");
  const facts: Child[] = [
    h("span", { class: `sign ${state}` },
      h("span", { "aria-hidden": "true" }, SIGNS[state]), " ", t(STANDING_WORDS[state]))];
  if (worst)
    facts.push(h("span", { class: "fact" }, t("layer"), " ", h("b", {}, layerName(text(worst, "layer")))),
               h("span", { class: "fact" }, t("confidence"), " ", h("b", {}, t(text(worst, "confidence")))));
  const wrong = findingsOf(document).filter(one => text(one, "severity") !== "info").length;
  if (wrong > 0) facts.push(h("span", { class: "fact" }, count(wrong, "finding")));
  return h("section", { class: `verdict ${state}` },
           caveats(document, true),
           verdictOf(document) && h("p", { class: "sentence" }, verdictOf(document)),
           h("p", { class: verdictOf(document) ? "soft" : "sentence" }, sentence(document)),
           h("p", { class: "standing" }, facts));
}

export const notes = (document: Fields): Child => {
  const all = caveats(document, false);
  return all.length > 0 && h("section", { class: "notes" }, all);
};

const kinds = (inputs: Fields[]): string => {
  const counts = new Map<string, number>();
  for (const one of inputs) counts.set(text(one, "kind"), (counts.get(text(one, "kind")) ?? 0) + 1);
  return [...counts].map(([kind, many]) => `${many} ${kind}`).join(", ");
};

export function inputs(document: Fields): Child {
  const all = list(document, "inputs").map(one => fields(one));
  if (all.length === 0) return null;
  const row = (one: Fields): Child =>
    h("li", {}, h("code", {}, text(one, "path")), " ",
      h("span", { class: "soft" }, text(one, "kind"),
        number(one, "rank") === null ? "" : `, rank ${text(one, "rank")}`));
  return folded(`read from ${count(all.length, "input")}: ${kinds(all)}`,
                () => h("ul", {}, shortened(all, 100, row, "inputs")), { class: "inputs" });
}
