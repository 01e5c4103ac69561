// Elements from values. Every text of a document goes through clean() and becomes a text node or an
// attribute: nothing is ever parsed as HTML.
import { t } from "./words";

export type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = { [name: string]: string | number | boolean | ((event: Event) => void) | undefined };

const SVG = "http://www.w3.org/2000/svg";
// colour and cursor sequences of terminals (ECMA-48)
const SEQUENCES = /\u001b\[[ -?]*[@-~]/g;
// what moves the cursor or turns the direction of a line: C0, C1, zero width and direction marks
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/g;

export const clean = (text: string): string => text.replace(SEQUENCES, "").replace(CONTROLS, "?");

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : clean(String(value)));
  }
  append(element, children);
}

export function append(element: Element, children: Child): void {
  if (Array.isArray(children)) for (const child of children) append(element, child);
  else if (children instanceof Node) element.appendChild(children);
  else if (children !== null && children !== undefined && children !== false)
    element.appendChild(document.createTextNode(clean(String(children))));
}

export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function s<K extends keyof SVGElementTagNameMap>(
    tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag) as SVGElementTagNameMap[K];
  fill(element, attributes, children);
  return element;
}

// Built when it is opened for the first time: a page of thousands of parts opens at once.
export function folded(summary: Child, build: () => Child, attributes: Attributes = {}): HTMLDetailsElement {
  const element = h("details", attributes, h("summary", {}, summary));
  let built = false;
  const open = () => {
    if (built || !element.open) return;
    built = true;
    append(element, build());
  };
  element.addEventListener("toggle", open);
  element.addEventListener("build", () => { element.open = true; open(); });
  return element;
}

// A long list of parts: the first of them, the rest on demand.
export function shortened<T>(all: T[], most: number, build: (part: T, index: number) => Child,
                             word: string): Child[] {
  const shown: Child[] = all.slice(0, most).map(build);
  if (all.length > most)
    shown.push(folded(t("{} more {}", all.length - most, word),
                      () => all.slice(most).map((part, index) => build(part, index + most)),
                      { class: "more" }));
  return shown;
}
