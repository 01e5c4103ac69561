// What was looked at, one line each: the rules of `topo check`, the pass/fail list of `run --accept`,
// what NCCL decides of a machine with the reason.
import { Child, folded, h } from "../dom";
import { Fields, fields, isFields, list, text } from "../json";
import { count, t, w } from "../words";

type Look = "fine" | "warning" | "unknown";
const SIGNS: { [look in Look]: string } = { fine: "\u2713", warning: "!", unknown: "\u2013" };

function lookOf(outcome: string): Look {
  if (/^(fine|pass|passed)$/.test(outcome)) return "fine";
  return /^(not known|undecided|not here|skip)/.test(outcome) ? "unknown" : "warning";
}

function line(one: Fields): Child {
  const outcome = text(one, "outcome");
  const look = lookOf(outcome);
  return h("li", { class: look }, h("span", { class: "mark", "aria-hidden": "true" }, SIGNS[look]),
    h("span", {}, text(one, "rule") || text(one, "name"), ": ", h("span", { class: `outcome ${look}` }, t(outcome)),
      [text(one, "expected") && `${t("expected")} ${text(one, "expected")}`, text(one, "observed") && `${t("found")} ${text(one, "observed")}`, text(one, "reason"), text(one, "why")]
        .filter(Boolean).map(words => h("span", { class: "soft know" }, words))));
}

function checked(title: string, all: Fields[]): Child {
  if (all.length === 0) return null;
  const known = all.filter(one => lookOf(text(one, "outcome")) !== "unknown");
  const rest = all.filter(one => lookOf(text(one, "outcome")) === "unknown");
  return h("section", { class: "decisions" }, h("h3", {}, t(title)), h("ol", {}, known.map(line)),
    rest.length > 0 && folded(t("{} without an answer", count(rest.length, "rule")), () => h("ol", {}, rest.map(line)), { class: "more" }));
}

function policy(all: Fields[], about: string): Child {
  if (all.length === 0) return null;
  return h("section", {}, h("h3", {}, t("What NCCL decides"), about && h("span", { class: "soft" }, `: ${about}`)), h("dl", { class: "keys" }, all.map(one =>
    [h("dt", {}, text(one, "rule")), h("dd", {}, h("b", {}, text(one, "outcome")), " ", h("span", { class: "soft" }, text(one, "reason")))])));
}

export function checks(document: Fields): Child {
  const result = fields(document, "result");
  const rows = (key: string) => list(result, key).filter(isFields).filter(one => text(one, "outcome"));
  return [checked(w("Accepted or not"), rows("accept")), checked(w("What was checked"), rows("checked")), policy(rows("policy"), text(result, "policy_of"))];
}
