// The ranks of a trace on one clock, on a canvas. Every column of pixels shows the shares of its
// states, so that 64 ranks and a million kernels stay readable; only the rows in sight are drawn, so
// that a thousand ranks scroll smoothly.
import { Child, h } from "../dom";
import { nanoseconds } from "../format";
import { Fields, fields, isFields, list, number, numbers, text } from "../json";
import { color, onTheme } from "../theme";
import { hideTip, showTip } from "../tip";
import { t, w } from "../words";

type Span = [number, number, number];  // start, end, name
interface Row {
  name: string; about: string; at: Float64Array; state: Uint8Array; summed: number; exposed: number;
  steps: Span[]; calls: Span[]; marks: Span[];
}

const IDLE = 0, EXPOSED = 3;
const STATES = [w("idle"), w("compute"), w("communication behind compute"), w("exposed communication"), w("copies")];
const PAINTS = ["idle", "blue", "hidden", "red", "yellow"];
const ORDER = [1, 2, 4, 0, 3];  // from the bottom of a row; exposed communication on top
const TOP = 36;
const LEAST_SPAN = 50;  // ns

const spans = (value: Fields, key: string): Span[] =>
  list(value, key).map(one => numbers(one)).filter((one): one is Span => one.length === 3);

function rowOf(value: Fields): Row {
  const pieces = numbers(value, "pieces");
  const count = pieces.length >> 1;
  const at = new Float64Array(count + 1);
  const state = new Uint8Array(count);
  at[0] = number(value, "start") ?? 0;
  for (let i = 0; i < count; ++i) {
    state[i] = pieces[2 * i] < STATES.length ? pieces[2 * i] : IDLE;
    at[i + 1] = at[i] + Math.max(0, pieces[2 * i + 1]);
  }
  return { name: text(value, "name"), about: text(value, "about"), at, state, summed: number(value, "summed") ?? 0,
           exposed: number(value, "exposed") ?? 0, steps: spans(value, "steps"), calls: spans(value, "calls"), marks: spans(value, "marks") };
}

// The last index with sorted[i] <= time.
function search(sorted: Float64Array, time: number): number {
  let low = 0, high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sorted[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

// Shares of the states in each of `columns` equal parts of [from, to).
function sharesOf(row: Row, from: number, to: number, columns: number): Float32Array {
  const shares = new Float32Array(columns * STATES.length);
  const width = (to - from) / columns;
  const count = row.state.length;
  if (count === 0) return shares;
  for (let i = search(row.at, from); i < count && row.at[i] < to; ++i) {
    const start = Math.max(row.at[i], from), end = Math.min(row.at[i + 1], to);
    if (end <= start) continue;
    const last = Math.min(columns - 1, Math.floor((end - from) / width));
    for (let c = Math.floor((start - from) / width); c <= last; ++c) {
      const low = Math.max(start, from + c * width), high = Math.min(end, from + (c + 1) * width);
      shares[c * STATES.length + row.state[i]] += Math.max(0, high - low) / width;
    }
  }
  return shares;
}

type Paint = [number, number, number];
function paintOf(name: string): Paint {
  const digits = color(name).replace("#", "");
  return [0, 2, 4].map(at => parseInt(digits.slice(at, at + 2), 16) || 0) as Paint;
}

function paintRow(image: ImageData, shares: Float32Array, paints: Paint[]): void {
  const { width, height, data } = image;
  data.fill(0);
  for (let c = 0; c < width; ++c) {
    let filled = 0, y = height;
    for (const state of ORDER) {
      const share = shares[c * STATES.length + state];
      filled += share;
      let top = height - Math.round(Math.min(1, filled) * height);
      // exposed communication that is there at all keeps one pixel
      if (state === EXPOSED && share > 0 && top >= y) top = Math.max(0, y - 1);
      const paint = paints[state];
      for (; y > top; --y) {
        const at = ((y - 1) * width + c) * 4;
        data[at] = paint[0]; data[at + 1] = paint[1]; data[at + 2] = paint[2]; data[at + 3] = 255;
      }
    }
  }
}

class Timeline {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", {});
  private readonly place = h("div", { class: "rows", tabindex: 0, role: "img", "aria-label": t("time line of the ranks") });
  private readonly rows: Row[];
  private order: Row[];
  private readonly length: number;
  private readonly pitch: number;
  private from = 0;
  private to: number;
  private isAsked = false;
  private held: { x: number; from: number; to: number } | null = null;

  constructor(rows: Row[], private readonly names: string[], private readonly notes: string[]) {
    this.rows = rows;
    this.order = [...rows];
    this.length = rows.reduce((most, row) => Math.max(most, row.at[row.at.length - 1]), 1);
    this.to = this.length;
    this.pitch = Math.max(11, Math.min(44, Math.floor(710 / Math.max(1, rows.length))));
    const whole = h("div", {}, this.canvas);  // as high as all rows; the canvas stays in sight
    whole.style.height = `${rows.length * this.pitch + TOP + 4}px`;
    this.place.append(whole);
    this.place.style.height = `${Math.min(rows.length * this.pitch + TOP + 6, 760)}px`;
    this.element = h("figure", { class: "timeline" }, this.legend(), this.place,
      h("figcaption", {}, [...this.notes, t("drag: move; Ctrl and wheel: zoom; double click: all; arrow keys, + - and 0 do the same; every column of pixels shows the shares of its states")].join(". ")));
    this.listen();
  }

  private legend(): Child {
    const keys = [1, 2, 3, 4, 0].map(state => {
      const sign = h("i");
      sign.style.background = `var(--${PAINTS[state]})`;
      return h("span", {}, sign, t(STATES[state]));
    });
    const mark = h("i", { class: "mark" });
    const button = (words: string, name: string, action: () => void) =>
      h("button", { click: action, title: name, "aria-label": name }, words);
    const sort = h("button", {}, t("sort by exposed"));
    let byExposed = false;
    sort.addEventListener("click", () => {
      byExposed = !byExposed;
      this.order = byExposed ? [...this.rows].sort((a, b) => b.exposed - a.exposed) : [...this.rows];
      sort.textContent = byExposed ? t("sort by rank") : t("sort by exposed");
      this.redraw();
    });
    return h("p", { class: "legend" }, keys, h("span", {}, mark, t("of a finding")),
      button("+", t("zoom in"), () => this.zoom(0.5)), button("\u2212", t("zoom out"), () => this.zoom(2)),
      button(t("all"), t("show all"), () => this.show(0, this.length)), this.rows.length > 1 && sort);
  }

  private get left(): number { return this.width < 600 ? 62 : 248; }
  private get width(): number { return this.place.clientWidth; }
  private get span(): number { return Math.max(40, this.width - this.left); }
  private xOf(time: number): number { return this.left + ((time - this.from) / (this.to - this.from)) * this.span; }
  private timeOf(x: number): number { return this.from + ((x - this.left) / this.span) * (this.to - this.from); }

  redraw(): void {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => { this.isAsked = false; this.draw(); });
  }
  private show(start: number, end: number): void {
    const span = Math.max(LEAST_SPAN, Math.min(this.length, end - start));
    this.from = Math.max(0, Math.min(this.length - span, start));
    this.to = this.from + span;
    this.redraw();
  }
  private zoom(factor: number, around = (this.from + this.to) / 2): void {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  private draw(): void {
    const scale = devicePixelRatio || 1;
    const height = this.place.clientHeight;
    const pen = this.canvas.getContext("2d");
    if (pen === null || this.width === 0) return;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(height * scale);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = color("back");
    pen.fillRect(0, 0, this.width, height);
    const rowHeight = this.pitch - (this.pitch > 16 ? 5 : this.pitch > 12 ? 2 : 1);
    const image = pen.createImageData(Math.max(1, Math.round(this.span * scale)), Math.max(1, Math.round(rowHeight * scale)));
    const paints = PAINTS.map(paintOf);
    const scrolled = this.place.scrollTop;
    const first = Math.max(0, Math.floor(scrolled / this.pitch));
    for (let i = first; i < this.order.length; ++i) {
      const y = TOP + i * this.pitch - scrolled;
      if (y > height) break;
      if (y < TOP - this.pitch) continue;
      this.drawRow(pen, this.order[i], y, rowHeight, image, paints, scale);
    }
    pen.fillStyle = color("back");
    pen.fillRect(0, 0, this.width, TOP - 2);
    pen.font = "12px system-ui, sans-serif";
    this.drawAxis(pen);
    this.drawSteps(pen);
  }

  private drawRow(pen: CanvasRenderingContext2D, row: Row, y: number, height: number, image: ImageData, paints: Paint[], scale: number): void {
    paintRow(image, sharesOf(row, this.from, this.to, image.width), paints);
    pen.putImageData(image, Math.round(this.left * scale), Math.round(y * scale));
    pen.font = `${Math.min(12, this.pitch - 1)}px system-ui, sans-serif`;
    pen.textAlign = "left";
    pen.fillStyle = color("text");
    pen.fillText(row.name, 0, y + height / 2 + 4);
    if (this.left > 100) {
      pen.fillStyle = color("soft");
      pen.fillText(row.about, 66, y + height / 2 + 4);
    }
    this.drawSpans(pen, row, y, height);
  }

  private drawSpans(pen: CanvasRenderingContext2D, row: Row, y: number, height: number): void {
    const end = this.left + this.span;
    pen.lineWidth = 1;
    pen.strokeStyle = color("text");
    for (const [start] of row.steps) {
      const x = Math.round(this.xOf(start)) + 0.5;
      if (x < this.left || x > end) continue;
      pen.beginPath(); pen.moveTo(x, y - 1); pen.lineTo(x, y + height + 1); pen.stroke();
    }
    for (const [start, stop] of row.calls) {
      if (stop < this.from || start > this.to) continue;
      const x = Math.max(this.left, this.xOf(start)), width = Math.min(end, this.xOf(stop)) - x;
      if (width >= 6) pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    }
    pen.fillStyle = color("purple");
    for (const [start, stop] of row.marks) {
      if (stop < this.from || start > this.to) continue;
      const x = Math.max(this.left, this.xOf(start));
      pen.fillRect(x, y + height - 4, Math.max(2, Math.min(end, this.xOf(stop)) - x), 4);
    }
  }

  private drawAxis(pen: CanvasRenderingContext2D): void {
    const raw = (this.to - this.from) / Math.max(2, Math.floor(this.span / 95));
    const base = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map(factor => factor * base).find(one => one >= raw) ?? raw;
    pen.strokeStyle = color("line");
    pen.fillStyle = color("soft");
    pen.textAlign = "center";
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      const x = Math.round(this.xOf(time)) + 0.5;
      pen.beginPath(); pen.moveTo(x, TOP - 9); pen.lineTo(x, TOP - 3); pen.stroke();
      if (x > this.left + 18 && x < this.left + this.span - 22) pen.fillText(nanoseconds(Number(time.toPrecision(6))), x, TOP - 12);
    }
  }

  private drawSteps(pen: CanvasRenderingContext2D): void {
    pen.textAlign = "left";
    pen.fillStyle = color("text");
    for (const [start, stop, name] of this.order[0]?.steps ?? []) {
      const x = Math.max(this.left, this.xOf(start));
      if (Math.min(this.left + this.span, this.xOf(stop)) - x > 64) pen.fillText(this.names[name] ?? "", x + 3, 11);
    }
  }

  private said(x: number, y: number): string {
    const row = this.order[Math.floor((y + this.place.scrollTop - TOP) / this.pitch)];
    if (x < this.left || y < TOP || !row) return "";
    const time = this.timeOf(x), half = (this.to - this.from) / this.span / 2;
    const step = row.steps.find(([start, stop]) => start <= time && time < stop);
    const lines = [`${t("{} at {}", row.name, nanoseconds(time))}${step ? `, ${this.names[step[2]]}` : ""}`];
    if (row.state.length === 0 || time < row.at[0] || time >= row.at[row.state.length]) return lines[0];
    lines.push(...this.stateAt(row, time, half));
    const meets = ([start, stop]: Span) => start - half <= time && time < stop + half;
    for (const call of row.calls.filter(meets).slice(0, 5)) lines.push(`${this.names[call[2]]}: ${nanoseconds(call[1] - call[0])}`);
    for (const mark of row.marks.filter(meets).slice(0, 3)) lines.push(`! ${this.names[mark[2]]}: ${nanoseconds(mark[1] - mark[0])}`);
    return lines.join("\n");
  }
  private stateAt(row: Row, time: number, half: number): string[] {
    const index = search(row.at, time), length = row.at[index + 1] - row.at[index];
    if (length >= 2 * half && row.summed === 0) return [`${STATES[row.state[index]]} for ${nanoseconds(length)}`];
    const around = Math.max(half, row.summed);
    const shares = sharesOf(row, time - around, time + around, 1);
    return STATES.map((name, state) => [name, shares[state]] as const).filter(([, share]) => share > 0.005)
                 .map(([name, share]) => `${Math.round(100 * share)} % ${name}`);
  }

  private listen(): void {
    const place = this.place;
    place.addEventListener("wheel", event => {
      const box = place.getBoundingClientRect();
      const by = (event.deltaX / this.span) * (this.to - this.from);
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), this.timeOf(Math.max(this.left, event.clientX - box.left)));
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.show(this.from + by, this.to + by);
      else return;
      event.preventDefault();
    }, { passive: false });
    place.addEventListener("pointerdown", event => {
      if (event.pointerType !== "mouse") return;  // a finger scrolls
      this.held = { x: event.clientX, from: this.from, to: this.to };
      place.setPointerCapture(event.pointerId);
    });
    place.addEventListener("pointerup", () => { this.held = null; });
    place.addEventListener("pointermove", event => {
      if (this.held) {
        const by = ((this.held.x - event.clientX) / this.span) * (this.held.to - this.held.from);
        return this.show(this.held.from + by, this.held.to + by);
      }
      const box = place.getBoundingClientRect();
      showTip(this.said(event.clientX - box.left, event.clientY - box.top), event.clientX, event.clientY);
    });
    place.addEventListener("pointerleave", hideTip);
    place.addEventListener("dblclick", () => this.show(0, this.length));
    place.addEventListener("scroll", () => this.redraw());
    place.addEventListener("keydown", event => this.key(event));
    new ResizeObserver(() => this.redraw()).observe(place);
    onTheme(() => this.draw());  // at once: paper does not wait for the next frame
  }
  private key(event: KeyboardEvent): void {
    const by = (this.to - this.from) / 5;
    const actions: { [key: string]: () => void } = {
      "+": () => this.zoom(0.6), "-": () => this.zoom(1.6), "0": () => this.show(0, this.length),
      ArrowLeft: () => this.show(this.from - by, this.to - by), ArrowRight: () => this.show(this.from + by, this.to + by),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}

function shown(picture: Fields, title: string): Child {
  const rows = list(picture, "rows").filter(isFields).map(rowOf).filter(row => row.state.length > 0);
  if (rows.length === 0) return null;
  const texts = (key: string) => list(picture, key).map(one => text(one));
  return h("section", {}, h("h3", {}, title), new Timeline(rows, texts("names"), texts("notes")).element);
}

// Of a pile of several jobs, each has its own.
export function timeline(document: Fields): Child {
  const others = list(document, "pictures", "other_timelines").filter(isFields);
  return [shown(fields(document, "pictures", "timeline"), t("Time line")),
          others.map(one => shown(one, t("Time line of {}", text(one, "name"))))];
}
