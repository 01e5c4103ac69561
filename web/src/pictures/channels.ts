// The rings and trees of NCCL's channels: what `nccl plan` calculates and what a debug log says. A
// ring is read like a line of text and ends where it began; a tree grows to the right, each rank
// sends to the one on its left. Orange leads to another node.
import { Child, folded, h, s, shortened } from "../dom";
import { ranges } from "../format";
import { Fields, fields, isFields, list, number, numbers, text } from "../json";
import { t } from "../words";

interface Ring { channels: number[]; ranks: number[]; left: number }
interface Tree { channels: number[]; up: Map<number, number> }
interface Job {
  title: string; rings: Ring[]; trees: Tree[];
  untold: string;                             // said where the document leaves the trees out
  nodeOf: ((rank: number) => number) | null;  // null: not known
  via: Map<string, string>;                   // "0>7" -> "P2P/CUMEM"
}

const BOX = { width: 36, height: 20, gap: 16, line: 32 };
const WIDTH = 980;
const MOST_RANKS = 96;   // of a ring that is drawn
const MOST_OF_TREE = 256;

// Channels that are alike stand together, in the order of the first.
function alike<T>(all: [number, T][], keyOf: (one: T) => string): [number[], T][] {
  const groups = new Map<string, [number[], T]>();
  for (const [channel, one] of all) {
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, [[], one]);
    groups.get(key)?.[0].push(channel);
  }
  return [...groups.values()];
}

const ringsOf = (all: [number, number[]][], size: number): Ring[] =>
  alike(all, ranks => ranks.join()).filter(([, ranks]) => ranks.length > 1)
    .map(([channels, ranks]) => ({ channels, ranks: ranks.slice(0, MOST_RANKS), left: Math.max(size, ranks.length) - Math.min(ranks.length, MOST_RANKS) }));

const treesOf = (all: [number, Map<number, number>][]): Tree[] =>
  alike(all, up => [...up].map(edge => edge.join(">")).sort().join()).filter(([, up]) => up.size > 0)
    .map(([channels, up]) => ({ channels, up }));

// "up/down/down/down" of every rank, one word each: "-1:1/8/-1 0:2/-1/-1".
function parsedTree(line: string): Map<number, number> {
  const up = new Map<number, number>();
  line.split(" ").slice(0, MOST_OF_TREE).forEach((word, rank) => {
    const parent = parseInt(word, 10);
    if (parent >= 0 && parent !== rank) up.set(rank, parent);
  });
  return up;
}

// The trees of many ranks are in the document with --full only.
const untoldOf = (result: Fields): string =>
  number(result, "trees", "full") === 0 && list(result, "trees", "unique").length === 0 && number(result, "trees", "depth") !== null
    ? t("the trees of so many ranks, {} deep, are left out; comm-probe nccl plan --full has them", number(result, "trees", "depth") ?? 0) : "";

function ofPlan(result: Fields): Job[] {
  const numbered = <T>(key: string, parse: (index: number) => T): [number, T][] =>
    numbers(result, key, "channel_to_unique").map((unique, channel) => [channel, parse(unique)]);
  const rings = numbered("rings", index => numbers(result, "rings", "unique", index));
  const trees = numbered("trees", index => parsedTree(text(result, "trees", "unique", index)));
  const ranks = number(result, "inputs", "ranks") ?? 0;
  const local = number(result, "inputs", "local_gpus") ?? 0;
  const via = new Map(list(result, "ring_edges_node0").map(edge => [`${number(edge, "from")}>${number(edge, "to")}`, text(edge, "via")]));
  return [{ title: t("Rings and trees"), rings: ringsOf(rings, ranks), trees: treesOf(trees), via, untold: untoldOf(result),
            nodeOf: local > 0 ? rank => Math.floor(rank / local) : null }];
}

function ofLog(comm: Fields): Job {
  const trees = new Map<number, Map<number, number>>();
  for (const line of list(comm, "trees").filter(isFields)) {
    const [channel, rank, up] = ["channel", "rank", "up"].map(key => number(line, key));
    if (channel === null || rank === null) continue;
    if (!trees.has(channel)) trees.set(channel, new Map());
    if (up !== null && up >= 0 && up !== rank) trees.get(channel)?.set(rank, up);
  }
  const rings = list(comm, "rings").filter(isFields).map(ring => [number(ring, "channel") ?? 0, numbers(ring, "ranks")] as [number, number[]]);
  const size = number(comm, "ranks") ?? 0;
  return { title: t("Rings and trees of a communicator of {} ranks", size), rings: ringsOf(rings, size), trees: treesOf([...trees]), untold: "",
           via: new Map(), nodeOf: number(comm, "nodes") === 1 ? () => 0 : null };
}

const box = (x: number, y: number, rank: number, job: Job): Element =>
  s("g", { class: `rank ${job.nodeOf ? `node${job.nodeOf(rank) % 2}` : ""}` },
    s("title", {}, job.nodeOf ? t("rank {}, node {}", rank, job.nodeOf(rank)) : t("rank {}", rank)),
    s("rect", { x, y, width: BOX.width, height: BOX.height, rx: 4 }),
    s("text", { x: x + BOX.width / 2, y: y + 14.5, "text-anchor": "middle", "font-size": 12 }, String(rank)));

function edge(d: string, from: number, to: number, job: Job): Element {
  const leaves = job.nodeOf !== null && job.nodeOf(from) !== job.nodeOf(to);
  const via = job.via.get(`${from}>${to}`);
  return s("path", { d, class: `hop${leaves ? " out" : ""}` },
           s("title", {}, t("rank {} to rank {}", from, to) + (leaves ? `, ${t("over the network")}` : "") + (via ? `, ${via}` : "")));
}

const channelsText = (channels: number[]): string => channels.length === 1 ? t("channel {}", channels[0]) : t("channels {}", ranges(channels));

function ringDrawing(ring: Ring, job: Job): Child {
  const perLine = Math.floor(WIDTH / (BOX.width + BOX.gap));
  const lines = Math.ceil((ring.ranks.length + 1) / perLine);
  const width = Math.min(ring.ranks.length + 1, perLine) * (BOX.width + BOX.gap);
  const height = lines * BOX.line;
  const at = (index: number) => ({ x: 1 + (index % perLine) * (BOX.width + BOX.gap), y: 4 + Math.floor(index / perLine) * BOX.line });
  const picture = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", class: "ring", "aria-label": `${t("ring of {}", channelsText(ring.channels))}: ${ring.ranks.join(", ")}` });
  ring.ranks.forEach((rank, index) => {
    const { x, y } = at(index);
    const isLast = index + 1 === ring.ranks.length;
    const next = ring.ranks[(index + 1) % ring.ranks.length];
    picture.append(box(x, y, rank, job));
    if (!isLast || ring.left === 0)
      picture.append(edge(`M${x + BOX.width} ${y + 10}h${BOX.gap - 2}m-4 -4l4 4l-4 4`, rank, next, job));
    if (isLast) {
      const end = at(index + 1);
      picture.append(s("text", { x: end.x + 4, y: end.y + 14.5, class: "soft", "font-size": 12 }, ring.left > 0 ? "\u2026" : `(${ring.ranks[0]})`));
    }
  });
  return h("div", { class: "channel" }, h("h4", {}, t("ring of {}", channelsText(ring.channels)) + (ring.left > 0 ? `, ${t("{} more ranks", ring.left)}` : "")),
           h("div", { class: "wide", tabindex: 0 }, picture));
}

// Children below each other, the first one beside its parent.
function placed(tree: Tree): { at: Map<number, { depth: number; row: number }>; rows: number; depth: number } {
  const children = new Map<number, number[]>();
  for (const [rank, up] of tree.up) children.set(up, [...(children.get(up) ?? []), rank]);
  const roots = [...children.keys()].filter(rank => !tree.up.has(rank));
  const at = new Map<number, { depth: number; row: number }>();
  let rows = 0, depth = 0;
  const stack = roots.reverse().map(rank => ({ rank, depth: 0, isFirst: false }));
  for (let next = stack.pop(); next; next = stack.pop()) {
    if (at.has(next.rank)) continue;
    if (!next.isFirst) ++rows;
    at.set(next.rank, { depth: next.depth, row: rows - 1 });
    depth = Math.max(depth, next.depth);
    const below = (children.get(next.rank) ?? []).sort((a, b) => a - b);
    for (let i = below.length - 1; i >= 0; --i) stack.push({ rank: below[i], depth: next.depth + 1, isFirst: i === 0 });
  }
  return { at, rows, depth };
}

function treeDrawing(tree: Tree, job: Job): Child {
  const { at, rows, depth } = placed(tree);
  const width = (depth + 1) * (BOX.width + BOX.gap + 6), height = Math.max(1, rows) * BOX.line;
  const place = (rank: number) => ({ x: 1 + (at.get(rank)?.depth ?? 0) * (BOX.width + BOX.gap + 6), y: 4 + (at.get(rank)?.row ?? 0) * BOX.line });
  const picture = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", class: "tree", "aria-label": t("tree of {}", channelsText(tree.channels)) });
  for (const [rank, up] of tree.up) {
    if (!at.has(rank) || !at.has(up)) continue;
    const from = place(rank), to = place(up);
    const bend = to.x + BOX.width + 10;
    picture.append(edge(`M${from.x} ${from.y + 10}H${bend}V${to.y + 10}H${to.x + BOX.width}`, rank, up, job));
  }
  for (const rank of at.keys()) picture.append(box(place(rank).x, place(rank).y, rank, job));
  return h("div", { class: "channel" }, h("h4", {}, t("tree of {}", channelsText(tree.channels))), h("div", { class: "wide", tabindex: 0 }, picture));
}

function shown(job: Job): Child {
  if (job.rings.length + job.trees.length === 0) return null;
  return h("section", { class: "channels" }, h("h3", {}, job.title),
    h("p", { class: "legend" }, job.nodeOf ? [h("span", {}, h("i", { class: "rank node0" }), t("ranks of one node")), h("span", {}, h("i", { class: "rank node1" }), t("of the next")),
                                              h("span", {}, h("i", { class: "out" }), t("over the network"))]
                                           : h("span", {}, t("the log does not say which ranks share a node"))),
    shortened(job.rings, 4, ring => ringDrawing(ring, job), t("rings")), shortened(job.trees, 2, tree => treeDrawing(tree, job), t("trees")),
    job.untold && h("p", { class: "soft" }, job.untold));
}

export function channels(document: Fields): Child {
  const result = fields(document, "result");
  if (isFields(result.rings)) return ofPlan(result).map(shown);
  const jobs = list(result, "communicators").filter(isFields).map(ofLog).filter(job => job.rings.length + job.trees.length > 0);
  return [jobs.slice(0, 2).map(shown), jobs.length > 2 && folded(t("{} more communicators", jobs.length - 2), () => jobs.slice(2, 40).map(shown), { class: "more" })];
}
