// The machine of a topology, and the paths between its devices as a matrix.
import { Child, h, s } from "../dom";
import { Fields, fields, list, text } from "../json";
import { tipOver } from "../tip";
import { Machine } from "./machine";
import { Paths, familyOf, inFamilyOrder, meaningOf, pathsOf, plannedPaths } from "./paths";
import { t } from "../words";

const MOST_DEVICES = 80;

function legend(paths: Paths, from: string[], to: string[]): Child {
  const used = new Set<string>();
  for (const start of from) for (const end of to) {
    const path = paths.get(start)?.get(end);
    if (path) used.add(familyOf(path.type));
  }
  used.delete("self");
  const names = new Map<string, Set<string>>();
  for (const [, ends] of paths) for (const [, path] of ends)
    names.set(familyOf(path.type), (names.get(familyOf(path.type)) ?? new Set()).add(path.type));
  return h("p", { class: "legend" }, inFamilyOrder(used).map(family =>
    h("span", {}, h("i", { class: `path-${family}` }), h("b", {}, [...(names.get(family) ?? [])].slice(0, 4).join(", ")), ` ${meaningOf(family)}`)));
}

function matrix(paths: Paths, from: string[], to: string[]): Child {
  const cell = Math.max(18, Math.min(42, Math.floor(1010 / to.length))), line = 22, left = 96, top = 78;
  const width = left + to.length * cell + 60, height = top + from.length * line + 4;
  const picture = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": t("type of the path from each row to each column") });
  picture.style.maxWidth = "none";
  to.forEach((name, column) => {
    const x = left + column * cell + cell / 2 + 4;
    picture.append(s("text", { x, y: top - 6, "font-size": 11, transform: `rotate(-48 ${x} ${top - 6})` }, name.slice(0, 14)));
  });
  from.forEach((start, row) => {
    const y = top + row * line;
    picture.append(s("text", { x: left - 8, y: y + 15, "font-size": 12, "text-anchor": "end" }, start.slice(0, 14)));
    to.forEach((end, column) => {
      const path = paths.get(start)?.get(end);
      if (!path || start === end) return;
      const x = left + column * cell;
      picture.append(s("rect", { x, y, width: cell - 2, height: line - 2, rx: 2, class: `cell path-${familyOf(path.type)}` }));
      if (cell >= 30) picture.append(s("text", { x: x + cell / 2 - 1, y: y + 14.5, "font-size": 11, "text-anchor": "middle", class: "on path" }, path.type.slice(0, 5)));
    });
  });
  tipOver(picture, event => {
    const box = picture.getBoundingClientRect();
    const start = from[Math.floor((event.clientY - box.top - top) / line)];
    const end = to[Math.floor((event.clientX - box.left - left) / cell)];
    return paths.get(start)?.get(end)?.says ?? "";
  });
  return h("div", { class: "wide", tabindex: 0 }, picture);
}

const namesOf = (result: Fields, key: string): string[] => list(result, key).map(one => text(one, "name")).filter(Boolean);

function drawn(result: Fields, title: string): Child {
  const planned = plannedPaths(result);
  const paths = planned?.paths ?? pathsOf(result);
  if (paths.size === 0) return null;
  const gpus = namesOf(result, "gpus"), nics = namesOf(result, "nics");
  const from = planned?.from ?? (gpus.length > 0 ? gpus : nics);
  const to = planned?.to ?? [...gpus, ...nics];
  if (from.length === 0 || to.length > MOST_DEVICES * 2) return null;
  const machine = planned ? null : new Machine(result, paths);
  return h("section", { class: "topology" }, h("h3", {}, title), legend(paths, from, to),
    machine && !machine.isEmpty && h("figure", {}, h("div", { class: "wide" }, machine.element),
      h("figcaption", {}, t("point at a device: all others take the colour of the path to them; click it, then point at another one, and the hops between them stand out (keys: Tab, Enter, Escape)"))),
    h("h4", {}, planned ? t("Paths as NCCL sees them, from GPU to GPU and NIC") : t("Paths, from row to column")),
    h("figure", {}, matrix(paths, from.slice(0, MOST_DEVICES), to), h("figcaption", {}, t("point at a field for its bandwidth and hops"))));
}

// doctor has the machines of its pile among the pictures.
export const topology = (document: Fields): Child =>
  [drawn(fields(document, "result"), t("The machine")),
   list(document, "pictures", "machines").map(one => drawn(fields(one), t("The machine {}", text(one, "name"))))];
