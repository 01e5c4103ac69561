// The page's own words in the language that comm-probe was asked for (--lang), which sends them
// along; English where it sent none. What inputs say is never translated.
import { Fields, fields, list, text } from "./json";

let labels: Fields = {};

const wordsOf = (document: Fields): Fields => fields(document, "pictures", "words");

// Of this document, or of the first of several that has any.
export function speak(envelope: Fields): void {
  const all = [envelope, ...list(envelope, "result", "documents").map(one => fields(one))];
  const found = all.map(wordsOf).find(words => text(words, "lang"));
  if (found === undefined) return;
  labels = fields(found, "labels");
  document.documentElement.lang = text(found, "lang");
}

// t("{} of {} curves are shown", 8, 12): the values stand in their order.
export function t(english: string, ...values: (string | number)[]): string {
  const form = text(labels, english) || english;
  let next = 0;
  return values.length === 0 ? form : form.replace(/\{\}/g, () => String(values[next++] ?? ""));
}
// Of words that are said elsewhere: web/test/words.test.mjs finds them by it.
export const w = (english: string): string => english;
// "1 rank", "3 ranks": its plural is what is translated, "{} ranks".
export function count(many: number, word: string): string {
  const form = text(labels, `{} ${word}s`);
  return form ? form.replace("{}", String(many)) : `${many} ${word}${many === 1 ? "" : "s"}`;
}
// The verdict made of the findings' own texts; empty in English.
export const verdictOf = (document: Fields): string => text(wordsOf(document), "verdict");
// "meaning", "cause" or "cure" of a finding or caveat; empty in English, where `explain` says it.
export const explained = (document: Fields, id: string, field: string): string =>
  text(wordsOf(document), "texts", id, field);
