#include "report/timeline_script.h"

namespace comm_probe::report {

std::string_view timeline_style() {
  return R"css(
:root { color-scheme: light; }
body { margin: 0; padding: 16px 20px; background: #fff; color: #1c2330;
       font: 14px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 18px; margin: 0 0 4px; }
.verdict { font-size: 15px; margin: 0 0 10px; max-width: 1100px; }
.finding { border-left: 4px solid #9aa5b5; padding: 2px 10px; margin: 6px 0; max-width: 1100px; }
.finding.warning { border-color: #d97b16; } .finding.error { border-color: #c8252c; }
.finding b { font-weight: 600; }
.finding .next, .note { color: #566173; font-size: 13px; }
details > summary { cursor: pointer; color: #566173; }
.bar { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; margin: 12px 0 6px;
       font-size: 13px; }
.key { display: inline-flex; align-items: center; gap: 5px; }
.key i { width: 13px; height: 13px; border-radius: 2px; display: inline-block; }
button { font: inherit; padding: 1px 9px; border: 1px solid #b8c0cc; border-radius: 4px;
         background: #f5f7fa; cursor: pointer; }
#line { display: block; width: 100%; cursor: grab; touch-action: none; outline-offset: 2px; }
#line.moving { cursor: grabbing; }
#tip { position: fixed; display: none; pointer-events: none; background: #1c2330; color: #fff;
       padding: 6px 9px; border-radius: 4px; font-size: 12.5px; max-width: 460px;
       white-space: pre-line; overflow-wrap: anywhere; z-index: 2; }
)css";
}

std::string_view timeline_script() {
  return R"js(
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const COLORS = [[238, 240, 243], [76, 120, 168], [114, 183, 178], [222, 60, 56], [196, 164, 62]];
const STATES = ["idle", "compute", "communication behind compute", "exposed communication", "copy"];
const ORDER = [1, 2, 4, 0, 3];  // from the bottom of a row; exposed communication on top
const MARK = "#6b2fb3";
const canvas = document.getElementById("line"), tip = document.getElementById("tip");
const pen = canvas.getContext("2d");
let length = 0;
for (const row of data.rows) {
  const count = row.pieces.length / 2;
  row.at = new Float64Array(count + 1);
  row.state = new Uint8Array(count);
  row.at[0] = row.start;
  for (let i = 0; i < count; i++) {
    row.state[i] = row.pieces[2 * i];
    row.at[i + 1] = row.at[i] + row.pieces[2 * i + 1];
  }
  delete row.pieces;
  length = Math.max(length, row.at[count]);
}
length = Math.max(length, 1);
let from = 0, to = length, order = data.rows.map((row, i) => i), scale = 1;
const TOP = 34, ROWS = data.rows.length;
const pitch = Math.max(12, Math.min(44, Math.floor(780 / Math.max(1, ROWS))));
const longest = key => Math.max(0, ...data.rows.map(row => row[key].length));
const names = 8 + 7 * longest("name"), labels = names + 12 + 6 * longest("about");

function search(sorted, time) {  // last index with sorted[i] <= time
  let low = 0, high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sorted[middle] <= time) low = middle; else high = middle - 1;
  }
  return low;
}
function timeText(ns) {
  const size = Math.abs(ns);
  const [factor, unit] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"]
                       : size >= 1e3 ? [1e3, "us"] : [1, "ns"];
  return Number((ns / factor).toPrecision(5)) + " " + unit;
}
const widthOf = () => canvas.clientWidth - labels;
const xOf = time => labels + (time - from) / (to - from) * widthOf();
const timeOf = x => from + (x - labels) / widthOf() * (to - from);

// Shares of the states in each pixel column of one row.
function sharesOf(row, columns) {
  const shares = new Float32Array(columns * 5);
  const perColumn = (to - from) / columns;
  const count = row.state.length;
  if (count === 0) return shares;
  for (let i = search(row.at, from); i < count && row.at[i] < to; i++) {
    const start = Math.max(row.at[i], from), end = Math.min(row.at[i + 1], to);
    if (end <= start) continue;
    const first = Math.floor((start - from) / perColumn);
    const last = Math.min(columns - 1, Math.floor((end - from) / perColumn));
    for (let c = first; c <= last; c++) {
      const low = Math.max(start, from + c * perColumn);
      const high = Math.min(end, from + (c + 1) * perColumn);
      shares[c * 5 + row.state[i]] += Math.max(0, high - low) / perColumn;
    }
  }
  return shares;
}
function paintRow(image, row, columns, height) {
  const shares = sharesOf(row, columns), pixels = image.data;
  for (let c = 0; c < columns; c++) {
    let filled = 0, y = height;
    for (const state of ORDER) {
      filled += shares[c * 5 + state];
      const until = state === 3 ? (filled > 0 ? height - Math.round(filled * height) : y)
                                : height - Math.round(filled * height);
      // what is there at all keeps one pixel where it is exposed
      let top = until;
      if (state === 3 && shares[c * 5 + 3] > 0 && top >= y) top = Math.max(0, y - 1);
      for (; y > top; y--) {
        const at = ((y - 1) * columns + c) * 4, color = COLORS[state];
        pixels[at] = color[0]; pixels[at + 1] = color[1];
        pixels[at + 2] = color[2]; pixels[at + 3] = 255;
      }
    }
    for (; y > 0; y--) pixels[((y - 1) * columns + c) * 4 + 3] = 0;
  }
}
function drawAxis(width) {
  const raw = (to - from) / Math.max(2, Math.floor(width / 110));
  const base = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(f => f * base).find(s => s >= raw);
  pen.fillStyle = "#566173"; pen.strokeStyle = "#c4cad4"; pen.textAlign = "center";
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const x = Math.round(xOf(t)) + 0.5;
    pen.beginPath(); pen.moveTo(x, TOP - 8); pen.lineTo(x, TOP - 3); pen.stroke();
    if (x > labels + 20 && x < labels + width - 20) pen.fillText(timeText(t), x, TOP - 12);
  }
}
function drawSpans(row, y, height) {
  for (const [start, end, name] of row.steps) {
    if (end < from || start > to) continue;
    const x = Math.round(xOf(start)) + 0.5;
    if (x < labels) continue;
    pen.strokeStyle = "#1c2330"; pen.lineWidth = 1;
    pen.beginPath(); pen.moveTo(x, y - 1); pen.lineTo(x, y + height + 1); pen.stroke();
  }
  pen.fillStyle = MARK;
  for (const [start, end] of row.marks) {
    if (end < from || start > to) continue;
    const x = Math.max(labels, xOf(start));
    pen.fillRect(x, y + height - 3, Math.max(2, Math.min(xOf(end), canvas.clientWidth) - x), 3);
  }
  pen.strokeStyle = "#5c1412"; pen.lineWidth = 1;
  for (const [start, end] of row.calls) {
    if (end < from || start > to) continue;
    const x = xOf(start), w = xOf(end) - x;
    if (w < 6) continue;
    pen.strokeRect(Math.max(labels, x) + 0.5, y + 0.5,
                   Math.min(w, canvas.clientWidth - Math.max(labels, x)) - 1, height - 1);
  }
}
function draw() {
  scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = TOP + ROWS * pitch + 4;
  canvas.style.height = height + "px";
  canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.fillStyle = "#fff"; pen.fillRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  const columns = Math.max(1, Math.round(widthOf() * scale));
  const rowHeight = pitch - (pitch > 16 ? 5 : 2);
  const image = pen.createImageData(columns, Math.round(rowHeight * scale));
  drawAxis(widthOf());
  order.forEach((index, place) => {
    const row = data.rows[index], y = TOP + place * pitch;
    paintRow(image, row, columns, image.height);
    pen.putImageData(image, Math.round(labels * scale), Math.round(y * scale));
    pen.textAlign = "left"; pen.fillStyle = "#1c2330";
    pen.fillText(row.name, 0, y + rowHeight / 2 + 4);
    pen.fillStyle = "#566173";
    pen.fillText(row.about, names, y + rowHeight / 2 + 4);
    drawSpans(row, y, rowHeight);
  });
  if (ROWS > 0)
    for (const [start, end, name] of data.rows[order[0]].steps) {
      const a = Math.max(labels, xOf(start)), b = Math.min(width, xOf(end));
      if (b - a < 60) continue;
      pen.textAlign = "left"; pen.fillStyle = "#1c2330";
      pen.fillText(data.names[name], a + 3, 10);
    }
}
let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}
function show(start, end) {
  const span = Math.max(50, Math.min(length, end - start));
  from = Math.max(0, Math.min(length - span, start));
  to = from + span;
  redraw();
}
function zoom(factor, around) {
  show(around - (around - from) * factor, around + (to - around) * factor);
}
function describe(event) {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left, place = Math.floor((event.clientY - box.top - TOP) / pitch);
  if (x < labels || place < 0 || place >= ROWS) return "";
  const row = data.rows[order[place]], time = timeOf(x), half = (to - from) / widthOf() / 2;
  const lines = [row.name + " at " + timeText(time)];
  const step = row.steps.find(s => s[0] <= time && time < s[1]);
  if (step) lines[0] += ", " + data.names[step[2]];
  if (row.state.length === 0 || time < row.at[0] || time >= row.at[row.state.length]) return lines[0];
  const i = search(row.at, time), pieces = row.at[i + 1] - row.at[i];
  if (pieces >= 2 * half && !row.summed)
    lines.push(STATES[row.state[i]] + " for " + timeText(pieces));
  else {
    const keep = [from, to];
    from = time - Math.max(half, row.summed); to = time + Math.max(half, row.summed);
    const shares = sharesOf(row, 1);
    [from, to] = keep;
    STATES.forEach((name, s) => {
      if (shares[s] > 0.005) lines.push(Math.round(100 * shares[s]) + " % " + name);
    });
  }
  for (const [start, end, name] of row.calls)
    if (start - half <= time && time < end + half) {
      lines.push(data.names[name] + ": " + timeText(end - start));
      if (lines.length > 7) break;
    }
  for (const [start, end, name] of row.marks)
    if (start - 2 * half <= time && time < end + 2 * half) {
      lines.push("! " + data.names[name] + ": " + timeText(end - start));
      if (lines.length > 9) break;
    }
  return lines.join("\n");
}
let held = null;
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  const x = event.clientX - canvas.getBoundingClientRect().left;
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
    show(from + event.deltaX / widthOf() * (to - from), to + event.deltaX / widthOf() * (to - from));
  else zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), timeOf(Math.max(labels, x)));
}, { passive: false });
canvas.addEventListener("pointerdown", event => {
  held = { x: event.clientX, from, to };
  canvas.setPointerCapture(event.pointerId);
  canvas.classList.add("moving");
});
canvas.addEventListener("pointerup", () => { held = null; canvas.classList.remove("moving"); });
canvas.addEventListener("pointermove", event => {
  if (held) {
    const by = (held.x - event.clientX) / widthOf() * (held.to - held.from);
    show(held.from + by, held.to + by);
  }
  const text = held ? "" : describe(event);
  tip.style.display = text ? "block" : "none";
  tip.textContent = text;
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - 480) + "px";
  tip.style.top = Math.min(event.clientY + 16, window.innerHeight - 180) + "px";
});
canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
canvas.addEventListener("dblclick", () => show(0, length));
canvas.addEventListener("keydown", event => {
  const middle = (from + to) / 2, by = (to - from) / 5;
  const keys = { "+": () => zoom(0.6, middle), "-": () => zoom(1.6, middle),
                 "0": () => show(0, length), ArrowLeft: () => show(from - by, to - by),
                 ArrowRight: () => show(from + by, to + by) };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
const on = (id, action) => document.getElementById(id).addEventListener("click", action);
on("in", () => zoom(0.5, (from + to) / 2));
on("out", () => zoom(2, (from + to) / 2));
on("all", () => show(0, length));
on("sort", event => {
  const byRank = event.target.dataset.by === "rank";
  order.sort((a, b) => byRank ? a - b : data.rows[b].exposed - data.rows[a].exposed || a - b);
  event.target.dataset.by = byRank ? "exposed" : "rank";
  event.target.textContent = byRank ? "sort by exposed" : "sort by rank";
  redraw();
});
window.addEventListener("resize", redraw);
draw();
)js";
}

}  // namespace comm_probe::report
