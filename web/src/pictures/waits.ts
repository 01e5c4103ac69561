// Who waits for whom: each line is a call that some ranks cannot leave, with those that hold it back.
// Where members of a group made different calls of one number, those whom the verdict names stand at the right.
// An arc leads from a rank that holds a call back to the call in which it waits itself.
import { Child, h, s } from "../dom";
import { ranges } from "../format";
import { Fields, number, numbers, text } from "../json";
import { t } from "../words";
import { Hang, hangOf, isMessage, isVictim, sidesOf } from "./waiting";

interface Holder { ranks: number[]; why: string; look: string }
interface Wait { call: string; ranks: number[]; holders: Holder[] }

const MOST = 24;
const WAITING = { x: 0, width: 210 };
const CALL = { x: 270, width: 270 };
const HOLDER = { x: 600, width: 300 };
const LINE = 26;
const GAP = 18;
const WIDTH = 1010;

// Who waits in another call holds nothing back by intent; the verdict's ranks stand alone, whatever they do.
function waitOf(hang: Hang, line: Fields): Wait {
  const absent = numbers(line, "not_issued"), unknown = numbers(line, "not_known");
  const named = (rank: number) => hang.named.has(rank);
  const holders: Holder[] = [
    { ranks: absent.filter(named), why: t("not issued"), look: "behind" },
    { ranks: absent.filter(rank => !named(rank) && !isVictim(hang, rank)), why: t("not issued"), look: "behind" },
    { ranks: absent.filter(rank => isVictim(hang, rank)), why: t("not issued, wait elsewhere"), look: "waits" },
    { ranks: numbers(line, "behind"), why: t("wait in an older call"), look: "waits" },
    { ranks: unknown.filter(named), why: t("no dump, or lost"), look: "missing" },
    { ranks: unknown.filter(rank => !named(rank)), why: t("not known: no dump, or lost"), look: "missing open" }];
  return { call: text(line, "call"), ranks: numbers(line, "ranks"), holders: holders.filter(holder => holder.ranks.length > 0) };
}

// All that are known are in one call by its number, yet the verdict says that some of them made another one: these hold
// the others back. Ranks without a dump stay what they are: not known.
function unlike(hang: Hang, wait: Wait): Wait {
  const seq = number(hang.verdict, "collective_seq_id");
  const others = sidesOf(hang).filter(side => numbers(side, "ranks").some(rank => hang.named.has(rank)));
  const rest = wait.ranks.filter(rank => !hang.named.has(rank));
  const isIt = seq !== null && wait.holders.every(holder => holder.look === "missing open") &&
    wait.call.endsWith(` ${seq} of group ${text(hang.verdict, "process_group", "name")}`);
  if (!isIt || others.length === 0 || rest.length === 0 || rest.length === wait.ranks.length) return wait;
  return { call: wait.call, ranks: rest,
           holders: [...others.map(side => ({ ranks: numbers(side, "ranks"), why: t("in {}", text(side, "call")), look: "behind" })),
                     ...wait.holders] };
}

// Sends and receives of the verdict that meet no counterpart: both ends are inside a call, so no line of waits has them.
function ofMessages(hang: Hang): Wait[] {
  if (hang.lines.some(line => isMessage(text(line, "call")))) return [];
  const sides = sidesOf(hang).filter(side => isMessage(text(side, "call")));
  return sides.map(side => {
    const ends = text(side, "call").match(/\d+/g)?.slice(0, 2).map(Number) ?? [];
    const others = sides.filter(other => other !== side && numbers(other, "ranks").some(rank => ends.includes(rank)));
    return { call: text(side, "call"), ranks: numbers(side, "ranks"),
             holders: others.map(other => ({ ranks: numbers(other, "ranks"), why: t("in {}", text(other, "call")), look: "waits" })) };
  }).filter(wait => wait.holders.length > 0);
}

const fit = (words: string, width: number): string =>
  words.length * 6.6 <= width ? words : words.slice(0, Math.floor(width / 6.6) - 1) + "\u2026";

function box(place: { x: number; width: number }, y: number, words: string, look: string, whole: string): Element {
  return s("g", { class: `box ${look}` }, s("title", {}, whole),
    s("rect", { x: place.x, y, width: place.width, height: LINE - 4, rx: 4 }),
    s("text", { x: place.x + 9, y: y + 15, "font-size": 12 }, fit(words, place.width - 14)));
}

const link = (x1: number, y1: number, x2: number, y2: number, look = ""): Element => {
  const middle = (x1 + x2) / 2;
  return s("path", { class: `link ${look}`, d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, "marker-end": "url(#arrow)" });
};

// Round the right side, from a holder to the line in which it waits itself.
const arc = (y1: number, y2: number, lane: number): Element => {
  const from = HOLDER.x + HOLDER.width;
  const out = from + 24 + lane * 9;
  return s("path", { class: "link again", d: `M${from} ${y1}C${out} ${y1} ${out} ${y1} ${out} ${(y1 + y2) / 2}` +
                     `S${out} ${y2} ${from + 4} ${y2}`, "marker-end": "url(#arrow)" });
};

const who = (all: number[]): string => all.length === 1 ? t("rank {}", all[0]) : t("ranks {}", ranges(all, 6));

function drawing(waits: Wait[], culprits: Set<number>): { picture: Element; arcs: number } {
  const tops: number[] = [];
  let y = 26;
  for (const wait of waits) {
    tops.push(y);
    y += Math.max(1, wait.holders.length) * LINE + GAP;
  }
  const picture = s("svg", { width: WIDTH, height: y, viewBox: `0 0 ${WIDTH} ${y}`, role: "img", "aria-label": t("Who waits for whom") },
    s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
                    s("path", { d: "M0 0L8 4L0 8Z", class: "head" }))));
  picture.style.maxWidth = "none";
  for (const [place, words] of [[WAITING, t("waiting")], [CALL, t("in this call")], [HOLDER, t("held back by")]] as const)
    picture.appendChild(s("text", { x: place.x, y: 14, "font-size": 12, class: "soft" }, words));
  let lane = 0;
  waits.forEach((wait, index) => {
    const top = tops[index];
    const middle = top + LINE / 2 - 2;
    picture.append(box(WAITING, top, who(wait.ranks), "waits", who(wait.ranks)),
                   box(CALL, top, wait.call, "call", wait.call),
                   link(WAITING.x + WAITING.width, middle, CALL.x - 1, middle));
    if (wait.holders.length === 0)
      picture.append(s("text", { x: HOLDER.x, y: top + 15, "font-size": 12, class: "soft" }, t("nobody: all have issued it")));
    wait.holders.forEach((holder, place) => {
      const at = top + place * LINE;
      const isCulprit = holder.ranks.some(rank => culprits.has(rank));
      const words = `${isCulprit ? "\u25b8 " : ""}${who(holder.ranks)}: ${holder.why}`;
      picture.append(box(HOLDER, at, words, holder.look, words), link(CALL.x + CALL.width, middle, HOLDER.x - 1, at + LINE / 2 - 2, holder.look === "missing open" ? "open" : ""));
      if (holder.look !== "waits") return;
      waits.forEach((other, target) => {
        if (target !== index && lane < 9 && other.ranks.some(rank => holder.ranks.includes(rank)))
          picture.append(arc(at + LINE / 2 - 2, tops[target] + LINE / 2 - 2, lane++));
      });
    });
  });
  return { picture, arcs: lane };
}

export function waitGraph(document: Fields): Child {
  const hang = hangOf(document), culprits = hang.named;
  // first what those hold back whom the verdict names
  const place = (wait: Wait) => wait.holders.some(holder => holder.look !== "waits" && holder.ranks.some(rank => culprits.has(rank))) ? 0 : 1;
  const waits = [...hang.lines.map(line => unlike(hang, waitOf(hang, line))), ...ofMessages(hang)].sort((a, b) => place(a) - place(b));
  if (waits.length === 0) return null;
  const { picture, arcs } = drawing(waits.slice(0, MOST), culprits);
  const isOpen = waits.some(wait => wait.holders.some(holder => holder.look === "missing open"));
  const notes = [culprits.size > 0 && `\u25b8 ${t("named by the verdict")}`,
                 isOpen && t("a dashed line: of these ranks nothing is known, they may be in the call as well"),
                 arcs > 0 && t("a dashed arc: the ranks that hold this call back wait themselves, in the call at its end (the first few are drawn)"),
                 waits.length > MOST && t("{} more calls are not drawn", waits.length - MOST)].filter(Boolean);
  return h("section", { class: "waiting" }, h("h3", {}, t("Who waits for whom")),
    h("figure", {}, h("div", { class: "wide", tabindex: 0 }, picture),
      notes.length > 0 && h("figcaption", {}, notes.join("; "))));
}
