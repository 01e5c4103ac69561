// Any part of a result as tables and lists, for commands without a picture and for the figures
// behind one. Numbers have the unit that their key names.
import { Child, folded, h, shortened } from "./dom";
import { ranges, withoutUnit, withUnit } from "./format";
import { Fields, isFields, Json } from "./json";
import { t } from "./words";

const DEEPEST = 6;

function short(key: string, value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return withUnit(key, value);
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  if (typeof value === "string") return value;
  if (Array.isArray(value)) {
    if (value.length > 2 && value.every(one => Number.isInteger(one))) return ranges(value as number[]);
    const parts = value.slice(0, 8).map(one => short(key, one));
    return parts.join(", ") + (value.length > 8 ? t(", and {} more", value.length - 8) : "");
  }
  return Object.entries(value).map(([name, inner]) => `${withoutUnit(name)} ${short(name, inner)}`).join(", ");
}

const isNumeric = (rows: Fields[], key: string): boolean =>
  rows.some(row => typeof row[key] === "number") &&
  rows.every(row => row[key] === null || row[key] === undefined || typeof row[key] === "number");

function keysOf(rows: Fields[]): string[] {
  const keys = new Set<string>();
  for (const row of rows.slice(0, 200)) for (const key of Object.keys(row)) keys.add(key);
  return [...keys];
}

export function table(rows: Fields[], keys = keysOf(rows), most = 60): Child {
  const look = new Map(keys.map(key => [key, isNumeric(rows, key) ? "number" : ""]));
  const line = (row: Fields): Child =>
    h("tr", {}, keys.map(key => h("td", { class: look.get(key) }, short(key, row[key]))));
  const head = () => h("thead", {}, h("tr", {}, keys.map(key => h("th", { class: look.get(key) }, withoutUnit(key)))));
  const whole = (some: Fields[]): Child =>
    h("div", { class: "wide", tabindex: 0 }, h("table", {}, head(), h("tbody", {}, some.map(line))));
  if (rows.length <= most) return whole(rows);
  return [whole(rows.slice(0, most)),
          folded(t("{} more rows", rows.length - most), () => whole(rows.slice(most, most + 5000)), { class: "more" })];
}

const isTable = (value: Json[]): value is Fields[] => value.length > 0 && value.every(isFields);

// Sentences stand below each other: commas would make one of them.
const sentences = (value: Json): Child =>
  Array.isArray(value) && value.length > 1 && value.some(one => typeof one === "string" && /\S \S+ \S/.test(one))
    ? h("ul", {}, shortened(value, 8, one => h("li", {}, short("", one)), t("lines"))) : null;

export function keyValues(entries: [string, Json][]): Child {
  if (entries.length === 0) return null;
  return h("dl", { class: "keys" }, entries.map(([key, value]) =>
    [h("dt", {}, withoutUnit(key)), h("dd", {}, sentences(value) ?? short(key, value))]));
}

const isPlain = (value: Json): boolean =>
  value === null || typeof value !== "object" ||
  (Array.isArray(value) && value.every(one => one === null || typeof one !== "object"));
const isEmpty = (value: Json): boolean =>
  value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);

function part(key: string, value: Json, depth: number): Child {
  const title = withoutUnit(key);
  if (Array.isArray(value))
    return folded([title, " ", h("span", { class: "soft" }, String(value.length))],
                  () => isTable(value) ? table(value)
                                       : shortened(value, 200, one => h("p", {}, short(key, one)), t("lines")),
                  { class: "part" });
  return folded(title, () => everything(value as Fields, depth + 1), { class: "part" });
}

// Plain values first, then a folded part for each list and object.
export function everything(value: Fields, depth = 0): Child {
  if (depth > DEEPEST) return h("pre", {}, JSON.stringify(value).slice(0, 20000));
  const entries = Object.entries(value).filter(([, inner]) => !isEmpty(inner));
  return [keyValues(entries.filter(([, inner]) => isPlain(inner))),
          entries.filter(([, inner]) => !isPlain(inner)).map(([key, inner]) => part(key, inner, depth))];
}
