// Numbers on the page read as those of the terminal: the expected texts are what `comm-probe calc`
// and `hang` print (README.md).
import assert from "node:assert/strict";
import { build } from "esbuild";
import { join } from "node:path";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { folder, root } from "./browser.mjs";

let format;
before(async () => {
  const outfile = join(folder, "format.mjs");
  await build({ entryPoints: [join(root, "web/src/format.ts")], outfile, bundle: true, format: "esm", logLevel: "error" });
  format = await import(pathToFileURL(outfile).href);
});

test("sizes", () => {
  const said = [[8, "8 B"], [65536, "64 KiB"], [114688, "112 KiB"], [2e6, "2 MB"], [1.75e9, "1.75 GB"], [2 ** 33, "8 GiB"], [0, "0 B"]];
  for (const [count, words] of said) assert.equal(format.bytes(count), words);
});

test("times", () => {
  const said = [[144.58752, "144.6 us"], [70140, "70.14 ms"], [0.0542600, "54.26 ns"], [2e6, "2 s"], [0, "0 ns"]];
  for (const [time, words] of said) assert.equal(format.microseconds(time), words);
});

test("rates and shares", () => {
  assert.equal(format.bandwidth(24.9501), "24.95 GB/s");
  assert.equal(format.percent(0.968271673793), "96.8 %");
});

test("ranks", () => {
  assert.equal(format.ranks([3]), "rank 3");
  assert.equal(format.ranks([11, 0, 1, 2, 3, 8, 10, 10]), "ranks 0-3, 8, 10, 11");
  assert.match(format.ranges(Array.from({ length: 40 }, (_, i) => 2 * i)), /and more, 40 in all$/);
});

test("a key names the unit of its number", () => {
  assert.equal(format.withUnit("time_us", 144.58752), "144.6 us");
  assert.equal(format.withUnit("busbw_GBps", 24.9501), "24.95 GB/s");
  assert.equal(format.withUnit("knee_bytes", 2e6), "2 MB");
  assert.equal(format.withUnit("overlap_pct", 58.8471), "58.8 %");
  assert.equal(format.withUnit("ranks", 8), "8");
  assert.equal(format.withoutUnit("plateau_busbw_GBps"), "plateau busbw");
});
