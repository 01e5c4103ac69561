// What each side of a hang did at the call in question: the call, its state, the line of the program.
import { Child, folded, h } from "../dom";
import { ranks } from "../format";
import { Fields, isFields, list, numbers, text } from "../json";
import { t } from "../words";
import { hangVerdict } from "./waiting";

function row(side: Fields): Child {
  const stack = list(side, "stack").map(line => text(line));
  const site = text(side, "site");
  return h("tr", {}, h("td", {}, ranks(numbers(side, "ranks"))), h("td", {}, h("code", {}, text(side, "call"))), h("td", {}, text(side, "state")),
    h("td", {}, stack.length > 1 ? folded(h("code", {}, site), () => h("pre", {}, stack.join("\n")), { class: "stack" }) : h("code", {}, site)));
}

function others(verdict: Fields): Child {
  const all = list(verdict, "alternatives").filter(isFields);
  return all.length > 0 && [h("h4", {}, t("or")), h("ul", {}, all.map(one =>
    h("li", {}, h("b", {}, text(one, "class")), numbers(one, "culprit_ranks").length > 0 && ` (${ranks(numbers(one, "culprit_ranks"))})`, `, ${t("decided by")}: `, h("span", { class: "soft" }, text(one, "decided_by")))))];
}

export function sides(document: Fields): Child {
  const verdict = hangVerdict(document);
  const all = list(verdict, "sides").filter(isFields);
  if (all.length + list(verdict, "alternatives").length === 0) return null;
  const head = [t("ranks"), t("call"), t("state"), t("at")].map(title => h("th", {}, title));
  return h("section", {}, h("h3", {}, t("What each side did")),
    all.length > 0 && h("div", { class: "wide", tabindex: 0 }, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, all.slice(0, 40).map(row)))),
    others(verdict));
}
