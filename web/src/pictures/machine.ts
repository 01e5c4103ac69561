// A machine as a drawing: CPUs, PCIe switches, GPUs and NICs with the links between them. Pointing at
// a device colours all others by the path to them; choosing it keeps that, and pointing at another
// one then shows the hops between the two.
import { s } from "../dom";
import { bandwidth } from "../format";
import { Fields, isFields, list, number, text } from "../json";
import { hideTip, showTip } from "../tip";
import { Path, Paths, familyOf } from "./paths";
import { count, t } from "../words";

interface Link { to: number; type: string; count: number; says: string }
interface Device {
  index: number; kind: string; name: string; lines: string[]; links: Link[];
  children: Device[]; isPlaced: boolean; x: number; y: number; width: number; height: number; hop: string;
}

const LEAF = 72;
const GAP = 6;
const LEVEL = 62;
const MOST = 600;

const short = (address: string): string => address.replace(/^0000:/, "");

function devicesOf(result: Fields): Device[] {
  const named = new Map<number, string>();
  for (const key of ["gpus", "nics", "cpus"])
    for (const one of list(result, key)) {
      const node = number(one, "node");
      if (node !== null) named.set(node, text(one, "name"));
    }
  return list(result, "graph", "nodes").slice(0, MOST).map((node, index) => {
    const kind = text(node, "type");
    const address = text(node, "bus_id");
    const name = named.get(index) ?? (kind === "CPU" ? `CPU${number(node, "numa") ?? 0}` : text(node, "name"));
    const hop = { PCI: `switch ${address}`, NIC: `nic ${address}`, NVS: "NVSwitch" }[kind] ?? name;
    const links = list(node, "links").filter(isFields).map(link => ({
      to: number(link, "to") ?? 0, type: text(link, "type"), count: number(link, "count") ?? 1,
      says: t("{} link", text(link, "type")) + (number(link, "nominal_GBps") === null ? "" : `, ${t("{} nominal", bandwidth(number(link, "nominal_GBps") ?? 0))}`) +
            (number(link, "nccl_GBps") === null ? "" : `, ${t("NCCL counts {}", bandwidth(number(link, "nccl_GBps") ?? 0))}`),
    }));
    return { index, kind, name, hop, links, lines: [], children: [], isPlaced: false, x: 0, y: 0, width: 0, height: 30 };
  });
}

// The tree below each CPU; a NIC keeps the names of its ports.
function grow(device: Device, all: Device[]): void {
  device.isPlaced = true;
  for (const link of device.links) {
    const next = all[link.to];
    if (!next || next.isPlaced) continue;
    if (device.kind === "NIC" && next.kind === "NET") {
      next.isPlaced = true;
      device.lines.push(next.name);
    } else if (link.type === "PCI" && ["PCI", "GPU", "NIC"].includes(next.kind)) {
      device.children.push(next);
      grow(next, all);
    }
  }
}

const isLeaf = (device: Device): boolean => device.kind === "GPU" || device.kind === "NIC";
const depthOf = (device: Device): number => 1 + Math.max(0, ...device.children.map(depthOf));
const rootOf = (all: Device[]): Device[] => {
  const cpus = all.filter(device => device.kind === "CPU");
  for (const cpu of cpus) grow(cpu, all);
  return cpus;
};

// GPUs and NICs stand in one line at the bottom, everything above spans what hangs below it.
function place(device: Device, x: number, level: number, bottom: number): number {
  device.x = x;
  device.y = isLeaf(device) ? bottom : 16 + level * LEVEL;
  let right = x;
  for (const child of device.children) right = place(child, right, level + 1, bottom) + GAP;
  device.width = Math.max(LEAF, right - GAP - x);
  return x + device.width;
}

// "host0:GPU1" and "nic 0101:00:00.0" take two lines where the box is narrow.
const labelsOf = (device: Device): string[] => {
  if (device.kind === "PCI") return [short(device.hop.replace("switch ", ""))];
  if (device.lines.length > 1) return device.lines;
  const name = device.lines[0] ?? (device.name || device.hop);
  const [, first, rest] = /^(nic |[^:]+:)(.+)$/.exec(name) ?? [];
  return isLeaf(device) && name.length > 9 && first ? [first.trim().replace(/:$/, ""), rest] : [name];
};

export class Machine {
  readonly element: SVGElement;
  readonly isEmpty: boolean;
  private readonly all: Device[];
  private readonly groups = new Map<Device, SVGGElement>();
  private readonly wires: { from: Device; to: Device; line: SVGElement }[] = [];
  private chosen: Device | null = null;

  constructor(result: Fields, private readonly paths: Paths) {
    this.all = devicesOf(result);
    const roots = rootOf(this.all);
    const leaves = this.all.filter(device => isLeaf(device) && device.isPlaced);
    this.isEmpty = leaves.length === 0;
    const bottom = 16 + Math.max(1, ...roots.map(depthOf).map(depth => depth - 1)) * LEVEL;
    let x = 4;
    for (const root of roots) x = place(root, x, 0, bottom) + 22;
    for (const leaf of leaves) leaf.height = 18 + 14 * Math.min(4, labelsOf(leaf).length);
    const low = bottom + Math.max(30, ...leaves.map(leaf => leaf.height));
    const height = this.placeSwitch(leaves, low) + 8;
    this.element = s("svg", { width: x, height, viewBox: `0 0 ${x} ${height}`, role: "img", "aria-label": t("the machine"), class: "machine" });
    this.element.style.width = "100%";  // to the width of the page, as far as it stays readable
    this.element.style.height = "auto";
    this.element.style.minWidth = `${Math.min(x, 0.72 * x + 120)}px`;
    this.element.style.maxWidth = `${x}px`;
    for (const root of roots) this.drawWires(root);
    this.drawNvlinks(leaves, low);
    for (const device of this.all) if (device.width > 0) this.draw(device);
    this.element.addEventListener("pointerleave", () => { this.paint(this.chosen); hideTip(); });
  }

  // The NVSwitch is one bar below all GPUs.
  private placeSwitch(leaves: Device[], low: number): number {
    const gpus = leaves.filter(leaf => leaf.kind === "GPU");
    const bar = this.all.find(device => device.kind === "NVS");
    if (!bar || gpus.length === 0) return low + (gpus.some(gpu => gpu.links.some(link => link.type === "NVL")) ? 90 : 0);
    bar.x = Math.min(...gpus.map(gpu => gpu.x));
    bar.width = Math.max(...gpus.map(gpu => gpu.x + gpu.width)) - bar.x;
    bar.y = low + 34;
    bar.height = 24;
    bar.name = "NVSwitch";
    return bar.y + bar.height;
  }

  private wire(from: Device, to: Device, d: string, look: string, says: string): void {
    const line = s("path", { d, class: `wire ${look}` }, s("title", {}, says));
    this.wires.push({ from, to, line });
    this.element.append(line);
  }
  private drawWires(device: Device): void {
    for (const child of device.children) {
      const link = device.links.find(one => one.to === child.index);
      const x = child.x + child.width / 2;
      this.wire(device, child, `M${x} ${device.y + device.height}V${child.y}`, "pci", link?.says ?? "");
      this.drawWires(child);
    }
    if (device.kind !== "CPU") return;
    for (const link of device.links) {
      const other = this.all[link.to];
      if (other?.kind !== "CPU" || other.index <= device.index) continue;
      this.wire(device, other, `M${device.x + device.width} ${device.y + 15}H${other.x}`, "sys", link.says);
    }
  }
  private drawNvlinks(leaves: Device[], low: number): void {
    for (const gpu of leaves)
      for (const link of gpu.links) {
        const other = this.all[link.to];
        if (link.type !== "NVL" || !other || other.width === 0) continue;
        const x = gpu.x + gpu.width / 2, y = gpu.y + gpu.height;
        if (other.kind === "NVS") this.wire(gpu, other, `M${x} ${y}V${other.y}`, "nvl", `${count(link.count, "NVLink")}, ${link.says}`);
        else if (other.kind === "GPU" && other.index > gpu.index) {
          const end = other.x + other.width / 2, sag = low + 12 + Math.min(76, Math.abs(end - x) / 7);
          this.wire(gpu, other, `M${x} ${y}C${x} ${sag} ${end} ${sag} ${end} ${other.y + other.height}`, "nvl", `${count(link.count, "NVLink")}, ${link.says}`);
        }
      }
  }

  private draw(device: Device): void {
    const labels = labelsOf(device).slice(0, 4);
    const focusable = isLeaf(device) || device.kind === "CPU";
    const group = s("g", { class: `device ${device.kind.toLowerCase()}`, tabindex: focusable ? 0 : undefined, role: focusable ? "button" : undefined,
                           "aria-label": labels.join(", ") },
      s("rect", { x: device.x, y: device.y, width: device.width, height: device.height, rx: 4 }),
      labels.map((label, line) => s("text", { x: device.x + device.width / 2, y: device.y + 19 + line * 14, "text-anchor": "middle",
                                             "font-size": label.length > 9 && device.width < 90 ? 10 : 12 },
                                   label.slice(0, Math.max(9, Math.floor(device.width / 6.2))))),
      s("text", { x: device.x + device.width / 2, y: device.y - 4, "text-anchor": "middle", "font-size": 11, class: "path" }));
    this.groups.set(device, group);
    this.element.append(group);
    group.addEventListener("pointermove", event => { this.point(device); showTip(this.says(device), event.clientX, event.clientY); });
    if (!focusable) return;
    group.addEventListener("focus", () => this.point(device));
    group.addEventListener("click", () => this.choose(device));
    group.addEventListener("keydown", event => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.choose(device); }
      if (event.key === "Escape") this.choose(null);
    });
  }

  private choose(device: Device | null): void {
    this.chosen = this.chosen === device ? null : device;
    this.paint(this.chosen);
  }
  private point(device: Device): void {
    if (this.chosen === null || this.chosen === device) return this.paint(device);
    this.paint(this.chosen);
    const path = this.between(this.chosen, device);
    if (path) this.mark(this.chosen, path);
  }

  private namesOf(device: Device): string[] { return device.lines.length > 0 ? device.lines : [device.name]; }
  private between(from: Device, to: Device): Path | undefined {
    for (const start of this.namesOf(from))
      for (const end of this.namesOf(to)) {
        const path = this.paths.get(start)?.get(end);
        if (path) return path;
      }
    return undefined;
  }
  private says(device: Device): string {
    const path = this.chosen && this.chosen !== device ? this.between(this.chosen, device) : undefined;
    if (path) return path.says;
    const links = device.links.slice(0, 4).map(link => link.says);
    return [device.hop || device.name, ...new Set(links)].join("\n");
  }

  private paint(from: Device | null): void {
    for (const { line } of this.wires) line.classList.remove("on");
    for (const [device, group] of this.groups) {
      group.classList.remove("on");
      const path = from && from !== device ? this.between(from, device) : undefined;
      if (path) group.dataset.path = familyOf(path.type);
      else delete group.dataset.path;
      group.classList.toggle("from", device === from);
      const label = group.querySelector(".path");
      if (label) label.textContent = path ? path.type : "";
    }
  }
  private mark(from: Device, path: Path): void {
    const on = new Set<Device>([from]);
    for (const device of this.all)
      if (path.hops.includes(device.hop) || device.lines.some(name => path.hops.includes(name))) on.add(device);
    for (const device of on) this.groups.get(device)?.classList.add("on");
    for (const wire of this.wires) if (on.has(wire.from) && on.has(wire.to)) wire.line.classList.add("on");
  }
}

