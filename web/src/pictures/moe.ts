// Dispatch and combine of an MoE layer: what each scheme takes on the NIC and on NVLink; the longer
// of the two is the time.
import { Child, h } from "../dom";
import { bytes, microseconds } from "../format";
import { Fields, fields, isFields, list, number, text } from "../json";
import { t } from "../words";

function lane(look: string, time: number, whole: number): Child {
  const piece = h("i", { class: look });
  piece.style.width = `${(100 * time) / whole}%`;
  return h("span", { class: "track thin" }, piece);
}

function row(scheme: Fields, way: string, whole: number): Child {
  const transfer = fields(scheme, way);
  const nic = number(transfer, "nic_us") ?? 0, nvlink = number(transfer, "nvlink_us") ?? 0;
  return h("div", { class: "ledger" }, h("span", { class: "name" }, `${text(scheme, "name")}, ${way}`),
    h("span", { class: "bars" }, lane("latency", nic, whole), lane("bandwidth", nvlink, whole)),
    h("span", { class: "say" }, microseconds(number(transfer, "time_us") ?? 0), h("span", { class: "soft" }, ` by the ${text(transfer, "limited_by")}`),
      h("span", { class: "soft why" }, `${bytes(number(transfer, "nic_bytes") ?? 0)} on the NIC, ${bytes(number(transfer, "nvlink_bytes") ?? 0)} on NVLink`)));
}

interface Way { name: string; time: number; by: string; nic: number; nvlink: number }

// A routing that was given: what its slowest rank takes, placement by placement.
function waysOf(routing: Fields): Way[] {
  const ways: Way[] = [];
  for (const place of list(routing, "placements").map(one => fields(one)))
    for (const scheme of ["flat", "dedup"])
      for (const way of ["dispatch", "combine"]) {
        const transfer = fields(place, scheme, way);
        const time = number(transfer, "time_us");
        if (time !== null)
          ways.push({ name: `${text(place, "name")}, ${scheme}, ${way}`, time, by: text(transfer, "limited_by"),
                      nic: number(transfer, "nic_bytes") ?? 0, nvlink: number(transfer, "nvlink_bytes") ?? 0 });
      }
  return ways;
}

function routed(document: Fields): Child {
  const routing = fields(document, "result", "routing");
  const ways = waysOf(routing);
  if (ways.length === 0) return null;
  const whole = ways.reduce((most, way) => Math.max(most, way.time), 1e-300);
  return [h("h4", {}, `${t("With this routing, its slowest rank")} (${text(routing, "source")})`),
    h("figure", {}, ways.map(way =>
      h("div", { class: "ledger" }, h("span", { class: "name" }, way.name),
        h("span", { class: "bars" }, lane(way.by === "nic" ? "latency" : "bandwidth", way.time, whole)),
        h("span", { class: "say" }, microseconds(way.time), h("span", { class: "soft" }, ` by the ${way.by}`),
          h("span", { class: "soft why" }, `${bytes(way.nic)} on the NIC, ${bytes(way.nvlink)} on NVLink`)))))];
}

export function schemes(document: Fields): Child {
  const all = list(fields(document, "result"), "schemes").filter(isFields).filter(one => number(one, "dispatch", "nic_us") !== null);
  if (all.length === 0) return null;
  const times = all.flatMap(one => ["dispatch", "combine"].flatMap(way => [number(one, way, "nic_us") ?? 0, number(one, way, "nvlink_us") ?? 0]));
  const whole = times.reduce((a, b) => Math.max(a, b), 1e-300);
  return h("section", {}, h("h3", {}, t("What a rank sends")),
    h("p", { class: "legend" }, h("span", {}, h("i", { class: "latency" }), "time on the NIC"), h("span", {}, h("i", { class: "bandwidth" }), "time on NVLink"),
      h("span", {}, "both run at once; the longer one counts")),
    Object.keys(fields(document, "result", "routing")).length > 0 && h("h4", {}, t("Where every expert is chosen alike")),
    h("figure", {}, all.map(one => [row(one, "dispatch", whole), row(one, "combine", whole)])),
    routed(document));
}
