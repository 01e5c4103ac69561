// Rank x group: how far each rank has come in each communicator. Ranks that stand alike in all groups
// share a row, so that a thousand ranks are a few rows.
import { Child, folded, h, s } from "../dom";
import { ranges, ranks as ranksText } from "../format";
import { Fields, isFields, list, number, numbers, text } from "../json";
import { tipOver } from "../tip";
import { count, t, w } from "../words";
import { Hang, Messages, hangOf, isVictim, messagesOf } from "./waiting";

type State = "even" | "waits" | "held" | "behind" | "missing" | "unknown";
interface Cell { state: State; says: string; short: string }
interface Group { name: string; title: string; head: string; ranks: number[]; cells: Map<number, Cell>; weight: number }
interface Row { ranks: number[]; cells: (Cell | undefined)[] }

const COLORS: { [state in State]: string } = {
  even: "var(--idle)", waits: "var(--orange)", held: "var(--panel)", behind: "var(--red)", missing: "var(--grey)", unknown: "var(--line)",
};
const WORDS: [State, string][] = [
  ["even", w("as far as the others, nothing open")], ["waits", w("in a call that is not over")],
  ["held", w("has issued fewer calls: waits in another one")], ["behind", w("has issued fewer calls than others, or not its side of a message")], ["missing", w("no dump of this rank")], ["unknown", w("not known")],
];
// Which groups are drawn first: those where somebody is behind.
const WEIGHTS: { [state in State]: number } = { even: 0, unknown: 0, held: 1, waits: 1, missing: 2, behind: 3 };
const MOST_GROUPS = 16;
const FIRST_ROWS = 40;
const MOST_ROWS = 1100;

const shown = (value: number | null): string => value === null ? "?" : value < 0 ? t("none") : String(value);

function cellOf(standing: Fields, most: number | null): Cell {
  const enqueued = number(standing, "last_enqueued");
  const completed = number(standing, "last_completed");
  const open = number(standing, "open") ?? 0;
  if (enqueued === null || (enqueued === 0 && completed === null))  // sends and receives have no such numbers
    return { state: "unknown", says: t("no collective of this group is known"), short: "\u2013" };
  const lag = most === null ? 0 : most - enqueued;
  const state: State = lag > 0 ? "behind" : open > 0 ? "waits" : "even";
  const says = t("last call issued {}, started {}, completed {}; {} open", shown(enqueued), shown(number(standing, "last_started")), shown(completed), count(open, "call")) +
    (lag > 0 ? `; ${t("others have issued {}", most ?? 0)}` : "");
  return { state, says, short: `${shown(completed)}/${shown(enqueued)}` };
}

// What is known of this rank beside the numbers of its collectives: its sends and receives here, and that it waits elsewhere.
function known(hang: Hang, messages: Messages, rank: number, cell: Cell): Cell {
  const inside = messages.inside.get(rank), holding = messages.holding.get(rank);
  if (holding !== undefined && (hang.named.has(rank) || inside === undefined))
    return { state: hang.named.has(rank) || !isVictim(hang, rank) ? "behind" : "held", short: t("p2p missing"),
             says: `${t("its side is missing: {}", holding)}; ${cell.says}` };
  if (inside !== undefined && cell.state !== "behind")
    return { state: "waits", short: t("waits in p2p"), says: `${t("in {}", inside)}${holding ? `, ${t("its side is missing: {}", holding)}` : ""}; ${cell.says}` };
  if (cell.state === "behind" && isVictim(hang, rank)) return { ...cell, state: "held", says: `${cell.says}; ${t("waits in a call itself")}` };
  return cell;
}

function groupOf(hang: Hang, group: Fields): Group {
  const standings = list(group, "standings").filter(isFields);
  const issued = standings.map(one => number(one, "last_enqueued")).filter((one): one is number => one !== null);
  const most = issued.length > 0 ? issued.reduce((a, b) => Math.max(a, b)) : null;
  const cells = new Map<number, Cell>();
  const messages = messagesOf(hang, text(group, "name"));
  for (const standing of standings) {
    const cell = cellOf(standing, most);
    for (const rank of numbers(standing, "ranks")) cells.set(rank, known(hang, messages, rank, cell));
  }
  const absent: Cell = { state: "missing", says: t("no dump: what it did is not known"), short: t("no dump") };
  for (const rank of numbers(group, "ranks")) if (!cells.has(rank)) cells.set(rank, absent);
  const name = text(group, "name");
  const description = text(group, "desc");
  const head = name + (description && description !== name ? ` (${description})` : "");
  return { name, head, cells, ranks: numbers(group, "ranks"),
           title: t("group {}", head),
           weight: [...cells.values()].reduce((most, cell) => Math.max(most, WEIGHTS[cell.state]), 0) };
}

// Whom the verdict names never shares a row with others.
function rowsOf(groups: Group[], culprits: Set<number>): Row[] {
  const alike = new Map<string, Row>();
  const everybody = [...new Set(groups.flatMap(group => [...group.cells.keys()]))].sort((a, b) => a - b);
  for (const rank of everybody) {
    const cells = groups.map(group => group.cells.get(rank));
    const key = cells.map(cell => cell ? cell.state + cell.says : "").join("|") + (culprits.has(rank) ? "|named" : "");
    const row = alike.get(key);
    if (row) row.ranks.push(rank);
    else alike.set(key, { ranks: [rank], cells });
  }
  return [...alike.values()];
}

// Those whom the verdict names, then their group (the first column), then those that are behind.
function worstFirst(rows: Row[], culprits: Set<number>): Row[] {
  const place = (row: Row) => (row.ranks.some(rank => culprits.has(rank)) ? 10 : 0) + (culprits.size > 0 && row.cells[0] ? 5 : 0) +
    row.cells.reduce((most, cell) => Math.max(most, cell ? WEIGHTS[cell.state] : 0), 0);
  return rows.sort((a, b) => place(b) - place(a) || a.ranks[0] - b.ranks[0]);
}

interface Size { left: number; top: number; width: number; height: number }

// What is cut says so.
const cut = (words: string, room: number): string => words.length <= room ? words : `${words.slice(0, Math.max(1, room - 1))}\u2026`;

function drawing(groups: Group[], rows: Row[], culprits: Set<number>): Element {
  const isSmall = rows.length <= 40;
  const size: Size = { left: 190, top: 40, width: Math.max(30, Math.min(260, 900 / groups.length)), height: isSmall ? 22 : 9 };
  const width = size.left + groups.length * size.width + 8;
  const height = size.top + rows.length * size.height + 8;
  const picture = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
                             "aria-label": t("ranks and groups: how far each has come") });
  picture.style.maxWidth = "none";
  const room = Math.floor((size.width - 8) / 7.8);
  groups.forEach((group, column) => {
    const x = size.left + column * size.width;
    picture.appendChild(s("text", { x, y: 16, "font-size": 12 }, cut(group.head, room)));
    picture.appendChild(s("text", { x, y: 31, "font-size": 11, class: "soft" }, count(group.ranks.length, "rank").slice(0, room)));
  });
  rows.forEach((row, line) => {
    const y = size.top + line * size.height;
    const isCulprit = row.ranks.some(rank => culprits.has(rank));
    if (isSmall || isCulprit || line % 8 === 0)
      picture.appendChild(s("text", { x: size.left - 10, y: y + size.height - (isSmall ? 7 : 1), "font-size": isSmall ? 12 : 10,
                                      "text-anchor": "end", class: isCulprit ? "culprit" : "" },
                            (isCulprit ? "\u25b8 " : "") + ranges(row.ranks, 4).slice(0, 28)));
    row.cells.forEach((cell, column) => {
      if (!cell) return;
      const x = size.left + column * size.width;
      picture.appendChild(s("rect", { x, y, width: size.width - 2, height: size.height - (isSmall ? 2 : 1), rx: 2,
                                      class: `cell ${cell.state}` }));
      if (isSmall && size.width > 44)
        picture.appendChild(s("text", { x: x + 6, y: y + 14.5, "font-size": 11, class: `on ${cell.state}` },
                              cell.short.slice(0, Math.floor(size.width / 7))));
    });
  });
  tipOver(picture, event => {
    const box = picture.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - size.left) / size.width);
    const row = rows[Math.floor((event.clientY - box.top - size.top) / size.height)];
    const cell = row?.cells[column];
    return row && cell ? `${ranksText(row.ranks)}, ${groups[column].title}\n${cell.says}` : "";
  });
  return picture;
}

export function groupMatrix(document: Fields): Child {
  const hang = hangOf(document), culprits = hang.named;
  const all = list(document, "pictures", "groups").filter(isFields).map(group => groupOf(hang, group)).filter(group => group.cells.size > 0);
  if (all.length === 0) return null;
  const ofVerdict = text(hang.verdict, "process_group", "name");
  const place = (group: Group) => (group.name === ofVerdict ? 10 : 0) + group.weight;
  const uneven = all.filter(group => group.weight > 0).sort((a, b) => place(b) - place(a));
  const groups = (uneven.length > 0 ? uneven : all).slice(0, MOST_GROUPS);
  const rows = worstFirst(rowsOf(groups, culprits), culprits);
  const used = new Set(rows.flatMap(row => row.cells.map(cell => cell?.state)));
  const rest: string[] = [];
  const others = uneven.length > 0 ? all.filter(group => group.weight === 0) : [];
  const silent = others.filter(group => [...group.cells.values()].every(cell => cell.state === "unknown")).length;
  if (others.length > silent) rest.push(t("in {} all ranks agree and nothing is open", count(others.length - silent, "further group")));
  if (silent > 0) rest.push(t("of {} no call is known", count(silent, "further group")));
  if (uneven.length > groups.length) rest.push(t("{} more groups are not drawn", uneven.length - groups.length));
  if (rows.length > MOST_ROWS) rest.push(t("{} more rows are not drawn", rows.length - MOST_ROWS));
  if (culprits.size > 0) rest.push(`\u25b8 ${t("named by the verdict")}`);
  return h("section", { class: "matrix" }, h("h3", {}, t("How far each rank has come")),
    h("p", { class: "legend" }, WORDS.filter(([state]) => used.has(state)).map(([state, words]) => {
      const sign = h("i");
      sign.style.background = COLORS[state];
      if (state === "held") sign.style.boxShadow = "inset 0 0 0 2px var(--orange)";
      return h("span", {}, sign, t(words));
    })),
    h("figure", {}, h("div", { class: "wide", tabindex: 0 }, drawing(groups, rows.slice(0, FIRST_ROWS), culprits)),
      rows.length > FIRST_ROWS && folded(t("{} more rows", rows.length - FIRST_ROWS), () => h("div", { class: "wide", tabindex: 0 },
        drawing(groups, rows.slice(FIRST_ROWS, MOST_ROWS), culprits)), { class: "more" }),
      h("figcaption", {}, [t("a row: ranks that stand alike; a cell: last collective completed / last issued, p2p: a send or receive"),
                           ...rest].join("; "))));
}
