// The page: reads the document that comm-probe embedded, shows it, or says why it cannot.
import { Child, append, clean, h } from "./dom";
import { findings } from "./findings";
import { Fields, Json, fields, isFields, list, text } from "./json";
import { pictures } from "./pictures";
import { curvesTogether } from "./pictures/curves";
import { everything } from "./tables";
import { prepareForPrint, themeButton } from "./theme";
import { STANDING_WORDS, inputs, notes, standing, verdictCard } from "./verdict";
import { count, speak, t, w } from "./words";

// A part that fails takes nothing else with it.
function guarded(name: string, build: () => Child): Child {
  try {
    return build();
  } catch (error) {
    console.warn(name, error);
    return h("p", { class: "caveat" }, t("{} cannot be shown: {}", t(name), String(error)));
  }
}

function show(document: Fields): Child {
  return [
    guarded(w("the verdict"), () => verdictCard(document)),
    guarded(w("the findings"), () => findings(document)),
    guarded(w("the notes"), () => notes(document)),
    guarded(w("the pictures"), () => pictures(document)),
    h("section", { class: "figures" }, h("h3", {}, t("All figures")),
      guarded(w("the inputs"), () => inputs(document)),
      guarded(w("the figures"), () => everything(fields(document, "result")))),
  ];
}

const nameOf = (document: Fields): string => `comm-probe ${text(document, "command")}`;

function overview(documents: Fields[]): Child {
  const row = (document: Fields, index: number): Child => {
    const state = standing(document);
    return h("li", {}, h("a", { href: `#d${index}` }, text(document, "command")), " ",
             h("span", { class: `sign ${state}` }, t(STANDING_WORDS[state])), " ",
             h("span", {}, text(document, "verdict")), " ",
             h("span", { class: "soft" }, text(document, "file")));
  };
  return h("ol", { class: "overview" }, documents.map(row));
}

function joined(envelope: Fields, documents: Fields[]): Child {
  return [h("section", {}, h("h2", {}, t("{} on one page", count(documents.length, "result"))), overview(documents)),
          guarded(w("the notes"), () => notes(envelope)),
          guarded(w("the curves"), () => curvesTogether(documents)),
          documents.map((document, index) =>
            h("article", { id: `d${index}` },
              h("h2", {}, nameOf(document), " ", h("span", { class: "soft" }, text(document, "file"))),
              show(document)))];
}

function page(document: Fields): Child {
  const documents = list(document, "result", "documents").filter(isFields);
  const isJoined = text(document, "command") === "report" && documents.length > 0;
  return [
    h("header", {}, h("h1", {}, isJoined ? "comm-probe" : nameOf(document)),
      h("span", { class: "soft" }, text(document, "comm_probe")), themeButton()),
    h("main", {}, isJoined ? joined(document, documents) : h("article", {}, show(document))),
    h("footer", {}, t("Numbers say where they come from: measured, read, computed, catalog or assumed. GB is 10^9 bytes, GiB is 2^30. This file holds everything; nothing is loaded.")),
  ];
}

function start(): void {
  const root = document.getElementById("page");
  const source = document.getElementById("document");
  if (root === null || source === null) return;
  let content: Json;
  try {
    content = JSON.parse(source.textContent ?? "");
  } catch (error) {
    append(root, h("p", { class: "caveat" }, t("this page holds no document: {}", String(error))));
    return;
  }
  const envelope = fields(content);
  document.title = clean(text(envelope, "verdict")
    ? `${text(envelope, "command")}: ${text(envelope, "verdict").slice(0, 80)}` : nameOf(envelope));
  speak(envelope);
  append(root, page(envelope));
  prepareForPrint();
}

start();
