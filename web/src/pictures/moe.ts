// Dispatch and combine of an MoE layer: what each scheme takes on the NIC and on NVLink; the longer
// of the two is the time.
import { Child, h } from "../dom";
import { decimalBytes, microseconds } from "../format";
import { Fields, fields, isFields, list, number, text } from "../json";
import { t, w } from "../words";

const NAMES: { [by: string]: string } = { nic: w("the NIC"), nvlink: "NVLink" };

interface Way { name: string; time: number; by: string; nicTime: number; nvlinkTime: number; nic: number; nvlink: number }

// A transfer that names no time of a side has the bytes, and the links their rate.
function wayOf(name: string, transfer: Fields, links: Fields): Way | null {
  const time = number(transfer, "time_us");
  if (time === null) return null;
  const by = text(transfer, "limited_by"), alpha = number(links, "alpha_us") ?? 0;
  const lane = (side: string, bytes: number): number => {
    const rate = number(links, `${side}_GBps`);
    return number(transfer, `${side}_us`) ?? (by === side ? time - alpha : rate !== null && rate > 0 ? bytes / rate / 1e3 : 0);
  };
  const nic = number(transfer, "nic_bytes") ?? 0, nvlink = number(transfer, "nvlink_bytes") ?? 0;
  return { name, time, by, nic, nvlink, nicTime: lane("nic", nic), nvlinkTime: lane("nvlink", nvlink) };
}

const isWay = (way: Way | null): way is Way => way !== null;

function waysOf(document: Fields): Way[] {
  const result = fields(document, "result"), links = fields(result, "links");
  return list(result, "schemes").filter(isFields)
    .flatMap(one => ["dispatch", "combine"].map(way => wayOf(`${text(one, "name")}, ${way}`, fields(one, way), links))).filter(isWay);
}

// A routing that was given: what its slowest rank takes, placement by placement.
function routedOf(document: Fields): Way[] {
  const result = fields(document, "result"), links = fields(result, "links");
  return list(result, "routing", "placements").map(one => fields(one)).flatMap(place =>
    ["flat", "dedup"].flatMap(scheme => ["dispatch", "combine"].map(way =>
      wayOf(`${text(place, "name")}, ${scheme}, ${way}`, fields(place, scheme, way), links)))).filter(isWay);
}

function lane(look: string, time: number, whole: number): Child {
  const piece = h("i", { class: look });
  piece.style.width = `${(100 * time) / whole}%`;
  return h("span", { class: "track thin", title: microseconds(time) }, piece);
}

const row = (way: Way, whole: number): Child =>
  h("div", { class: "ledger" }, h("span", { class: "name" }, way.name),
    h("span", { class: "bars" }, lane("latency", way.nicTime, whole), lane("bandwidth", way.nvlinkTime, whole)),
    h("span", { class: "say" }, microseconds(way.time), h("span", { class: "soft" }, ` ${t("set by {}", t(NAMES[way.by] ?? way.by))}`),
      h("span", { class: "soft why" }, t("{} on the NIC, {} on NVLink", decimalBytes(way.nic), decimalBytes(way.nvlink)))));

export function schemes(document: Fields): Child {
  const all = waysOf(document), routed = routedOf(document);
  if (all.length === 0) return null;
  const whole = [...all, ...routed].reduce((most, way) => Math.max(most, way.nicTime, way.nvlinkTime), 1e-300);
  const alpha = number(fields(document, "result", "links"), "alpha_us") ?? 0;
  return h("section", { class: "schemes" }, h("h3", {}, t("What a rank sends")),
    h("p", { class: "legend" }, h("span", {}, h("i", { class: "latency" }), t("time on the NIC")), h("span", {}, h("i", { class: "bandwidth" }), t("time on NVLink")),
      h("span", {}, t("both run at once; the longer one counts") + (alpha > 0 ? `, ${t("and {} of alpha", microseconds(alpha))}` : "") + `; ${t("all bars have one scale, its end is {}", microseconds(whole))}`)),
    routed.length > 0 && h("h4", {}, t("Where every expert is chosen alike")),
    h("figure", {}, all.map(way => row(way, whole))),
    routed.length > 0 && [
      h("h4", {}, `${t("With this routing, its slowest rank")} (${text(document, "result", "routing", "source")})`),
      h("figure", {}, routed.map(way => row(way, whole)))]);
}
