// What a simulation says: the time, what each late rank or slow link adds to it, what no change can go below. All bars
// of one picture have one scale.
import { Child, h } from "../dom";
import { bandwidth, microseconds, percent, plain } from "../format";
import { Fields, fields, isFields, list, number, text } from "../json";
import { t } from "../words";

interface Bar { name: string; about: string; from: number; pieces: [string, number][]; says: string }

function row(bar: Bar, whole: number): Child {
  const pieces = bar.pieces.map(([look, time]) => {
    const piece = h("i", { class: look });
    piece.style.width = `${(100 * time) / whole}%`;
    return piece;
  });
  if (pieces[0]) pieces[0].style.marginLeft = `${(100 * bar.from) / whole}%`;
  return h("div", { class: "ledger" }, h("span", { class: "name" }, bar.name), h("span", { class: "bars" }, h("span", { class: "track" }, pieces)),
           h("span", { class: "say" }, bar.says, bar.about && h("span", { class: "soft why" }, bar.about)));
}

const named = (all: string[], most = 6): string =>
  all.slice(0, most).join(", ") + (all.length > most ? ` ${t("and {} more", all.length - most)}` : "");

const lateOf = (result: Fields): string => named(list(result, "late_ranks").filter(isFields)
  .map(one => t("rank {} comes {} late", text(one, "rank"), microseconds(number(one, "late_us") ?? 0))));
const slowOf = (result: Fields): string => named(list(result, "slow_links").filter(isFields)
  .map(one => t("{} at {} of its rate", text(one, "to") ? t("{} to {}", text(one, "from"), text(one, "to")) : t("the NIC of {}", text(one, "from")), plain(number(one, "factor") ?? 1))));

const whole = (time: number, look = "same"): [string, number][] => [[look, time]];

// "late ranks: 2 ms (+316 %)": the time with all changes less the time without this one.
function cost(name: string, about: string, time: number, without: number | null): Bar | null {
  if (without === null || without <= 0) return null;
  const more = Math.max(0, time - without);
  return { name, about, from: Math.min(time, without), pieces: [["more", more]], says: more > 0 ? `+ ${microseconds(more)} (+${percent(time / without - 1)})` : t("nothing") };
}

function linkText(result: Fields): Child {
  const links = fields(result, "links"), closed = fields(result, "closed_form");
  const one = (link: Fields): string => `alpha ${microseconds(number(link, "alpha_us") ?? 0)}, beta ${bandwidth(number(link, "beta_GBps") ?? 0)}`;
  const from = Object.keys(links).length > 0 ? links : fields(closed, "inputs");
  const link = isFields(links.link) ? links.link : closed;
  if (number(link, "alpha_us") === null) return null;
  return h("p", { class: "soft" }, `${t("the link")}: ${one(link)}`, isFields(links.between_nodes) && `; ${t("between nodes")}: ${one(links.between_nodes)}`,
           text(from, "basis") && ` (${t(text(from, "basis"))}: ${text(from, "source")})`);
}

// Steps and bytes of the time on links that are alike, where the closed form has the same time.
function alikeOf(result: Fields, alike: number): [string, number][] {
  const closed = fields(result, "closed_form");
  const latency = number(closed, "latency_us"), bytes = number(closed, "bandwidth_us"), time = number(closed, "time_us");
  if (latency === null || bytes === null || time === null || Math.abs(time / alike - 1) > 1e-6) return whole(alike);
  return [["latency", latency], ["bandwidth", bytes]];
}

function barsOf(result: Fields, time: number): Bar[] {
  const alike = number(result, "alike_us"), first = number(result, "first_rank_us");
  const bars: (Bar | null)[] = [
    { name: t("the time"), about: first === null ? "" : t("the first rank has finished after {}", microseconds(first)), from: 0, pieces: whole(time), says: microseconds(time) },
    alike === null ? null : { name: t("all alike"), about: t("no link is slow and no rank late"), from: 0, pieces: alikeOf(result, alike), says: microseconds(alike) },
    cost(t("late ranks"), lateOf(result), time, number(result, "without_late_ranks_us")),
    cost(t("slow links"), slowOf(result), time, number(result, "without_slow_links_us"))];
  for (const [key, value] of Object.entries(fields(result, "floors")))
    if (typeof value === "number" && value > 0)
      bars.push({ name: `${t("floor")}: ${key.replace(/_us$/, "")}`, about: t("no time is below it"), from: 0, pieces: whole(value), says: microseconds(value) });
  return bars.filter((bar): bar is Bar => bar !== null);
}

// A recorded job with changes: what each would gain.
function changesOf(result: Fields): Bar[] {
  const recorded = number(result, "replayed_us") ?? number(result, "recorded_us");
  if (recorded === null) return [];
  const changes = list(result, "changes").filter(isFields).map((one): Bar => {
    const time = number(one, "time_us") ?? recorded, gain = number(one, "gain_us") ?? recorded - time, sure = number(one, "gain_at_least_us");
    return { name: text(one, "change"), from: 0, pieces: whole(time, "bandwidth"), says: `${microseconds(time)}, ${gain > 0 ? t("saves {}", microseconds(Math.abs(gain))) : t("adds {}", microseconds(Math.abs(gain)))} (${percent(Math.abs(gain) / recorded)})`,
             about: sure === null || sure === gain ? "" : t("at least {}", microseconds(sure)) };
  });
  return [{ name: t("as recorded"), about: "", from: 0, pieces: whole(recorded), says: microseconds(recorded) }, ...changes];
}

// On a fabric: which kinds of links hold the messages up.
function heldUp(result: Fields): Child {
  const shares = list(result, "fabric", "held_up_by").filter(isFields).filter(one => number(one, "share") !== null);
  return shares.length > 0 && [h("h4", {}, `${t("held up by, of all flows' time")} (${text(result, "fabric", "description")})`), shares.map(one => {
    const share = Math.min(1, number(one, "share") ?? 0);
    return row({ name: text(one, "kind"), about: "", from: 0, pieces: [["same", share]], says: percent(share) }, 1);
  })];
}

export function whatIf(document: Fields): Child {
  if (text(document, "command").split(" ")[0] !== "sim") return null;
  const result = fields(document, "result"), time = number(result, "time_us");
  const bars = time === null ? changesOf(result) : barsOf(result, time);
  if (bars.length === 0) return null;
  const most = bars.reduce((top, bar) => Math.max(top, bar.from + bar.pieces.reduce((sum, [, size]) => sum + size, 0)), 1e-300);
  const has = (look: string) => bars.some(bar => bar.pieces.some(([one]) => one === look));
  const words: [string, string][] = [["latency", t("latency: steps")], ["bandwidth", time === null ? t("with a change") : t("bandwidth: bytes")], ["more", t("what it adds")]];
  return h("section", { class: "costs" }, h("h3", {}, t("What each change costs")), linkText(result),
    h("p", { class: "legend" }, words.filter(([look]) => has(look)).map(([look, said]) => h("span", {}, h("i", { class: look }), said)),
      h("span", {}, t("one scale, its end is {}", microseconds(most)))),
    h("figure", {}, bars.map(bar => row(bar, most)), time !== null && heldUp(result)));
}
