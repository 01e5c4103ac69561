// Reading a document whose shape nobody guarantees: a page may show the JSON of another version, or
// of somebody who wants to break it. What is not there or of another kind reads as empty.
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Fields = { [key: string]: Json };

export const isFields = (value: Json | undefined): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function get(value: Json | undefined, ...path: (string | number)[]): Json | undefined {
  let at: Json | undefined = value;
  for (const key of path) {
    if (Array.isArray(at)) at = at[Number(key)];
    else if (isFields(at) && Object.prototype.hasOwnProperty.call(at, key)) at = at[key];
    else return undefined;
  }
  return at;
}
export function fields(value: Json | undefined, ...path: (string | number)[]): Fields {
  const found = get(value, ...path);
  return isFields(found) ? found : {};
}
export function list(value: Json | undefined, ...path: (string | number)[]): Json[] {
  const found = get(value, ...path);
  return Array.isArray(found) ? found : [];
}
export function text(value: Json | undefined, ...path: (string | number)[]): string {
  const found = get(value, ...path);
  return typeof found === "string" ? found : typeof found === "number" ? String(found) : "";
}
export function number(value: Json | undefined, ...path: (string | number)[]): number | null {
  const found = get(value, ...path);
  return typeof found === "number" && Number.isFinite(found) ? found : null;
}
export function numbers(value: Json | undefined, ...path: (string | number)[]): number[] {
  return list(value, ...path).filter((one): one is number => typeof one === "number");
}
