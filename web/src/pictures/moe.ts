// Dispatch and combine of an MoE layer: what each scheme takes on the NIC and on NVLink; the longer
// of the two is the time.
import { Child, h } from "../dom";
import { bytes, microseconds } from "../format";
import { Fields, fields, isFields, list, number, text } from "../json";

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

export function schemes(document: Fields): Child {
  const all = list(fields(document, "result"), "schemes").filter(isFields).filter(one => number(one, "dispatch", "nic_us") !== null);
  if (all.length === 0) return null;
  const times = all.flatMap(one => ["dispatch", "combine"].flatMap(way => [number(one, way, "nic_us") ?? 0, number(one, way, "nvlink_us") ?? 0]));
  const whole = times.reduce((a, b) => Math.max(a, b), 1e-300);
  return h("section", {}, h("h3", {}, "What a rank sends"),
    h("p", { class: "legend" }, h("span", {}, h("i", { class: "latency" }), "time on the NIC"), h("span", {}, h("i", { class: "bandwidth" }), "time on NVLink"),
      h("span", {}, "both run at once; the longer one counts")),
    h("figure", {}, all.map(one => [row(one, "dispatch", whole), row(one, "combine", whole)])));
}
