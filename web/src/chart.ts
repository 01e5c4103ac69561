// Values over message sizes (log2) with uPlot: lines, a band, marked sizes and levels. The pointer or
// the arrow keys show the values at a size; dragging zooms, a double click shows all again.
import uPlot from "uplot";
import { append, h } from "./dom";
import { bytes } from "./format";
import { color, onTheme } from "./theme";
import { t } from "./words";

export interface Line {
  name: string;
  points: [number, number][];  // size in bytes, value
  color: string;               // a colour of style.css
  dash?: number[];
  width?: number;
  isShown?: boolean;
  isPoints?: boolean;          // nothing is known between the points
  isHollow?: boolean;          // its points
}
export interface Mark { at: number; name: string; color: string }
export interface Chart {
  title: string;  // for who cannot see it
  lines: Line[];
  isLog?: boolean;
  format: (value: number) => string;
  band?: { low: number; high: number; name: string };
  levels?: Mark[];
  sizes?: Mark[];
}

const COLORS = ["c0", "c1", "c2", "c3", "c4", "c5"];  // told apart by everybody; then dashes
export const lineColor = (index: number): string => COLORS[index % COLORS.length];
export const lineDash = (index: number): number[] => [[], [8, 4], [2, 3], [10, 3, 2, 3]][Math.floor(index / COLORS.length) % 4];

const positive = (points: [number, number][], isLog: boolean): [number, number][] =>
  points.filter(([size, value]) => size > 0 && (!isLog || value > 0)).sort((a, b) => a[0] - b[0]);

function aligned(chart: Chart): uPlot.AlignedData {
  const tables = chart.lines.map(line => {
    const points = positive(line.points, chart.isLog === true);
    return [points.map(point => point[0]), points.map(point => point[1])] as uPlot.AlignedData;
  });
  return uPlot.join(tables);
}

function sizeTicks(plot: uPlot, _: number, min: number, max: number): number[] {
  const first = Math.ceil(Math.log2(min));
  const last = Math.floor(Math.log2(max));
  const room = plot.bbox.width / (devicePixelRatio || 1) / 68;
  const step = Math.max(1, Math.ceil((last - first) / Math.max(2, Math.min(12, room))));
  const ticks: number[] = [];
  for (let power = Math.ceil(first / step) * step; power <= last; power += step) ticks.push(2 ** power);
  return ticks;
}

// Drawn below the lines: the band; above: levels and sizes with their names.
function drawBand(plot: uPlot, chart: Chart): void {
  if (!chart.band) return;
  const top = plot.valToPos(chart.band.high, "y", true);
  const bottom = plot.valToPos(chart.band.low, "y", true);
  const { left, width } = plot.bbox;
  plot.ctx.save();
  plot.ctx.fillStyle = color("fine");
  plot.ctx.globalAlpha = 0.16;
  plot.ctx.fillRect(left, top, width, Math.max(2, bottom - top));
  plot.ctx.restore();
}

function label(plot: uPlot, words: string, x: number, y: number, paint: string): void {
  if (plot.width < NARROW) return;
  const pen = plot.ctx;
  const ratio = devicePixelRatio || 1;
  pen.font = `${12 * ratio}px system-ui, sans-serif`;
  const width = pen.measureText(words).width;
  const left = Math.max(plot.bbox.left + 2, Math.min(x, plot.bbox.left + plot.bbox.width - width - 4));
  pen.globalAlpha = 0.85;
  pen.fillStyle = color("back");
  pen.fillRect(left - 2, y - 12 * ratio, width + 4, 15 * ratio);
  pen.globalAlpha = 1;
  pen.fillStyle = paint;
  pen.textAlign = "left";
  pen.fillText(words, left, y);
}

function drawMarks(plot: uPlot, chart: Chart): void {
  const pen = plot.ctx;
  const ratio = devicePixelRatio || 1;
  const { left, top, width, height } = plot.bbox;
  pen.save();
  pen.lineWidth = 1.3 * ratio;
  pen.setLineDash([5 * ratio, 4 * ratio]);
  const stroke = (paint: string, x1: number, y1: number, x2: number, y2: number) => {
    pen.strokeStyle = paint;
    pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke();
  };
  for (const level of chart.levels ?? []) {
    const y = plot.valToPos(level.at, "y", true);
    if (y < top || y > top + height) continue;
    stroke(color(level.color), left, y, left + width, y);
    label(plot, level.name, left + 6 * ratio, y - 5 * ratio, color(level.color));
  }
  (chart.sizes ?? []).forEach((size, index) => {
    const x = plot.valToPos(size.at, "x", true);
    if (x < left || x > left + width) return;
    stroke(color(size.color), x, top, x, top + height);
    label(plot, size.name, x + 4 * ratio, top + height - (8 + 17 * index) * ratio, color(size.color));
  });
  if (chart.band) {
    const y = plot.valToPos(chart.band.high, "y", true);
    label(plot, chart.band.name, left + 6 * ratio, Math.max(top + 14 * ratio, y + 14 * ratio), color("fine"));
  }
  pen.restore();
}

// The labels of an axis are never cut: "0.0025 GB/s" needs more room than "80 GB/s".
let pen: CanvasRenderingContext2D | null = null;
function roomFor(ticks: string[] | null): number {
  pen ??= document.createElement("canvas").getContext("2d");
  if (pen === null) return 90;
  pen.font = "12px system-ui, sans-serif";
  const widest = (ticks ?? []).reduce((most, tick) => Math.max(most, pen?.measureText(tick ?? "").width ?? 0), 0);
  return Math.max(60, Math.ceil(widest) + 22);
}

// A narrow plot has no room for words on its lines: they stand below it.
const NARROW = 500;

function optionsOf(chart: Chart, width: number, tell: (plot: uPlot) => void): uPlot.Options {
  const most = Math.max(chart.band?.high ?? 0, ...(chart.levels ?? []).map(level => level.at));
  const axis = { stroke: () => color("soft"), grid: { stroke: () => color("line"), width: 1 },
                 ticks: { stroke: () => color("line"), width: 1 }, font: "12px system-ui, sans-serif" };
  return {
    width, height: width < NARROW ? 260 : 380,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 } },
    scales: {
      x: { time: false, distr: 3, log: 2 },
      y: chart.isLog ? { distr: 3, log: 10 }
                     : { range: (_, __, high) => [0, Math.max(high, most) * 1.08 || 1] },
    },
    axes: [
      { ...axis, splits: sizeTicks, values: (_, ticks) => ticks.map(tick => bytes(tick)), space: 50,
        filter: (_, ticks) => ticks },
      { ...axis, size: (_, ticks) => roomFor(ticks), values: (_, ticks) => ticks.map(tick => tick === null ? "" : chart.format(tick)) },
    ],
    series: [{}, ...chart.lines.map(line => ({
      label: line.name, show: line.isShown !== false, spanGaps: true, dash: line.dash,
      width: line.width ?? 1.8, stroke: () => color(line.color),
      paths: line.isPoints ? () => null : undefined,
      points: { show: line.isPoints || line.points.length === 1 || (line.points.length < 80 && !line.dash?.length),
                size: line.isPoints || line.points.length === 1 ? 9 : 5, width: 2,
                stroke: () => color(line.color), fill: () => color(line.isHollow ? "back" : line.color) },
    }))],
    hooks: {
      drawClear: [plot => drawBand(plot, chart)],
      draw: [plot => drawMarks(plot, chart)],
      setCursor: [tell],
    },
  };
}

function said(plot: uPlot, chart: Chart): string {
  const index = plot.cursor.idx;
  if (index === null || index === undefined || (plot.cursor.left ?? -1) < 0) return "";
  const lines = [bytes(plot.data[0][index])];
  chart.lines.forEach((line, place) => {
    const value = plot.data[place + 1][index];
    if (plot.series[place + 1].show && value !== null && value !== undefined)
      lines.push(`${line.name}: ${chart.format(value)}`);
  });
  return lines.length > 1 ? lines.slice(0, 14).join("\n") : "";
}

function legend(chart: Chart, plot: uPlot): HTMLElement {
  const entry = (line: Line, index: number) => {
    const box = h("input", { type: "checkbox" });
    box.checked = line.isShown !== false;
    box.addEventListener("change", () => plot.setSeries(index + 1, { show: box.checked }));
    const [first = 0] = line.dash ?? [];
    const sign = h("i", { class: first === 0 ? "" : first < 4 ? "dotted" : "dashed" });
    sign.style.setProperty("--paint", `var(--${line.color})`);
    return h("label", {}, box, sign, line.name);
  };
  return h("p", { class: "legend chart-legend" }, chart.lines.map(entry));
}

// The words of marks where the plot has no room for them.
function marksBelow(chart: Chart): HTMLElement | null {
  const marks = [...(chart.levels ?? []), ...(chart.sizes ?? []), ...(chart.band ? [{ name: chart.band.name, color: "fine" }] : [])];
  if (marks.length === 0) return null;
  return h("p", { class: "legend chart-legend chart-marks" }, marks.map(mark => {
    const sign = h("i", { class: "dashed" });
    sign.style.setProperty("--paint", `var(--${mark.color})`);
    return h("span", {}, sign, mark.name);
  }));
}

function byKeys(plot: uPlot, event: KeyboardEvent): void {
  const by = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  const last = plot.data[0].length - 1;
  const index = Math.max(0, Math.min(last, (plot.cursor.idx ?? (by > 0 ? -1 : last + 1)) + by));
  plot.setCursor({ left: plot.valToPos(plot.data[0][index], "x"), top: 10 });
}

export function drawChart(chart: Chart): HTMLElement {
  const place = h("div", { class: "chart", tabindex: 0, role: "img", "aria-label": chart.title });
  const below = marksBelow(chart);
  const tip = h("div", { class: "values", "aria-live": "polite" });
  const figure = h("figure", {}, place, below, tip);
  const build = () => {
    const plot = new uPlot(optionsOf(chart, place.clientWidth || 800, at => {
      const words = said(at, chart);
      tip.textContent = words || t("point at the curve, or use the arrow keys, for the values at a size");
    }), aligned(chart), place);
    figure.insertBefore(legend(chart, plot), place);
    place.addEventListener("keydown", event => byKeys(plot, event));
    new ResizeObserver(() => {
      const width = place.clientWidth;
      if (below) below.hidden = width >= NARROW;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: width < NARROW ? 260 : 380 });
    }).observe(place);
    onTheme(() => plot.redraw(false, true));
  };
  // uPlot measures its place: it must stand in the page first
  queueMicrotask(() => requestAnimationFrame(build));
  append(tip, " ");
  return figure;
}
