// The top of a document: what limits it, the verdict in one sentence, its layer and how sure it is.
import { Child, folded, h, shortened } from "./dom";
import { ranges, ranks } from "./format";
import { Fields, fields, list, number, numbers, text } from "./json";
import { hangVerdict } from "./pictures/waiting";
import { count, explained, t, verdictOf, w } from "./words";

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
  error: w("error found"), warning: w("warning found"), limited: w("limited"), below: w("below what is usual"),
  partly: w("not all judged"), facts: w("facts, not judged"), fine: w("nothing wrong found"),
};
const SIGNS: { [state in Standing]: string } = {
  error: "\u2715", warning: "!", limited: "?", below: "i", partly: "i", facts: "i", fine: "\u2713",
};

const limits = (caveat: Fields[string]): boolean => fields(caveat).limits !== false;

const caveat = (document: Fields, one: Fields): Child =>
  h("p", { class: limits(one) ? "caveat limits" : "caveat" },
    h("b", {}, t(limits(one) ? "limited" : "note"), " "), h("code", {}, text(one, "id")),
    ": ", text(one, "missing"), "; ", h("span", { class: "soft" }, text(one, "effect")),
    [w("meaning"), w("cure")].map(name => {
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
  if (op && ranks) return t("{} on {} ranks", text(op), text(ranks)) + (algorithm ? `, ${text(algorithm)}` : "");
  return t("the result of {}", `comm-probe ${text(document, "command")}`);
}

// Other languages have the word with "layer" behind it, as the findings say it.
const layerName = (layer: string): string => {
  const whole = `${layer} layer`, said = t(whole);
  return said === whole ? layer : said;
};

// Who it is about, without unfolding anything: the ranks of a hang or of the finding that decides, and the machines
// that are odd. A hang also says who only waits, and where the cause lies.
function about(document: Fields, worst: Fields | undefined): Child {
  const result = fields(document, "result"), hang = text(worst, "id").startsWith("hang.") ? hangVerdict(document) : {};
  const culprits = numbers(hang, "culprit_ranks"), victims = numbers(hang, "victims");
  const named = culprits.length > 0 ? culprits : numbers(worst, "ranks");
  const odd = list(result, "odd").map(one => text(one)).filter(Boolean);
  const where = text(hang, "class") === "healthy" ? "" : text(hang, "code_or_environment");
  const rows: [string, string][] = [];
  if (worst && named.length > 0) rows.push([t("who"), ranks(named)]);
  if (worst && odd.length > 0) rows.push([t("machines"), odd.slice(0, 8).join(", ") + (odd.length > 8 ? ` ${t("and {} more", odd.length - 8)}` : "")]);
  if (worst && victims.length > 0) rows.push([t("victims"), t("{} only wait: {}", count(victims.length, "rank"), ranges(victims))]);
  if (worst && where) rows.push([t("where"), t(where)]);
  return rows.length > 0 && h("dl", { class: "keys who" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

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
           about(document, worst),
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
        number(one, "rank") === null ? "" : `, ${t("rank {}", text(one, "rank"))}`));
  return folded(t("read from {}: {}", count(all.length, "input"), kinds(all)),
                () => h("ul", {}, shortened(all, 100, row, t("inputs"))), { class: "inputs" });
}
