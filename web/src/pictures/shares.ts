// Where the time of each rank of a trace goes, and who makes the others wait.
import { Child, h, shortened } from "../dom";
import { nanoseconds, percent } from "../format";
import { Fields, fields, isFields, list, number, text } from "../json";
import { t, w } from "../words";

const PARTS: [string, string, (total: Fields) => number][] = [
  [w("compute"), "blue", total => value(total, "comp_ns") - value(total, "overlap_ns")],
  [w("communication behind compute"), "hidden", total => value(total, "overlap_ns")],
  [w("exposed communication"), "red", total => value(total, "exposed_comm_ns")],
  [w("copies"), "yellow", total => value(total, "exposed_mem_ns")],
  [w("idle"), "idle", total => value(total, "idle_ns")],
];
const value = (one: Fields, key: string): number => number(one, key) ?? 0;

function bar(rank: Fields, caused: Map<number, number>): Child {
  const total = fields(rank, "total");
  const span = Math.max(1, value(total, "span_ns"));
  const track = h("span", { class: "track" });
  const says: string[] = [];
  for (const [name, paint, part] of PARTS) {
    const share = Math.max(0, part(total)) / span;
    const piece = h("i");
    piece.style.width = `${100 * share}%`;
    piece.style.background = `var(--${paint})`;
    track.append(piece);
    says.push(`${t(name)} ${percent(share)}`);
  }
  const waits = caused.get(number(rank, "rank") ?? -1) ?? 0;
  return h("div", { class: "ledger" }, h("span", { class: "name" }, t("rank {}", text(rank, "rank"))),
    h("span", { class: "bars", title: says.join("\n") }, track),
    h("span", { class: "say" }, `${nanoseconds(value(total, "span_ns"))}, ${t("exposed {}", percent(value(total, "exposed_comm_ns") / span))}`,
      waits > 0 && h("span", { class: "soft why" }, t("makes others wait {}, the first collective left out", nanoseconds(waits)))));
}

export function shares(document: Fields): Child {
  const result = fields(document, "result");
  const ranks = list(result, "ranks").filter(isFields).filter(rank => number(rank, "total", "span_ns") !== null);
  if (ranks.length === 0) return null;
  // as the finding says it: without the first collective, where ranks start late
  const caused = new Map<number, number>();
  for (const one of list(result, "stragglers"))
    if (number(one, "step") === null)
      caused.set(number(one, "rank") ?? -1,
                 1000 * ((number(one, "caused_wait_us") ?? 0) - (number(one, "of_it_at_entry_us") ?? 0)));
  const keys = PARTS.map(([name, paint]) => {
    const sign = h("i");
    sign.style.background = `var(--${paint})`;
    return h("span", {}, sign, t(name));
  });
  return h("section", {}, h("h3", {}, t("Where the time goes")), h("p", { class: "legend" }, keys),
           h("figure", {}, shortened(ranks, 16, rank => bar(rank, caused), t("ranks"))));
}
