// A document that somebody made to break the page: its texts stay texts, its odd values are passed
// over, nothing runs and nothing is loaded.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { folder, launch, makePage, open } from "./browser.mjs";

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>\u2028\u2029\u202e\u0000\u001b[31m<!--";
const envelope = more => ({ comm_probe: EVIL, command: "curve", inputs: [], result: {}, findings: [], caveats: [], ...more });
const finding = {
  id: EVIL, severity: "error", layer: EVIL, summary: EVIL, ranks: [1, 2, 3], confidence: EVIL,
  expected: { value: 1, unit: EVIL, basis: EVIL, source: EVIL }, observed: { value: 2, unit: EVIL },
  evidence: [{ source: EVIL, line: 3, text: EVIL }], next: [EVIL, `comm-probe ${EVIL}`],
};
const path = { from: EVIL, to: "b", type: EVIL, hops: [EVIL] };

const DOCUMENTS = {
  "hostile texts": envelope({
    verdict: EVIL, inputs: [{ path: EVIL, kind: EVIL, rank: 1 }], findings: [finding],
    caveats: [{ id: EVIL, missing: EVIL, effect: EVIL, limits: true }],
    result: {
      [EVIL]: EVIL, __proto__x: EVIL,
      curves: [{ file: EVIL, op: EVIL, rows: [{ bytes: 8, time_us: 1, busbw_GBps: 1, in_place: false }], reference: { low_GBps: 1, high_GBps: 2, source: EVIL } }],
      gpus: [{ name: EVIL, node: 0 }, { name: "b", node: 1 }], nics: [], paths: [path],
      graph: { nodes: [{ type: "CPU", links: [{ to: 1, type: "PCI" }] }, { type: "GPU", links: [{ to: 0, type: "PCI" }] }] },
      latency_us: 1, bandwidth_us: 1, time_us: 2, bytes: 8, algorithm: EVIL, terms: [{ name: EVIL, time_us: 1, latency_us: 1, bandwidth_us: 0, reason: EVIL }],
      path: [{ step: EVIL, question: EVIL, outcome: EVIL, findings: [EVIL], to_know: EVIL, tree: EVIL }],
    },
    pictures: {
      groups: [{ name: EVIL, desc: EVIL, ranks: [0, 1], standings: [{ ranks: [0], last_enqueued: 1, last_completed: 0, open: 1 }] }],
      waits: [{ call: EVIL, ranks: [0], not_issued: [1], behind: [], not_known: [] }],
      timeline: { notes: [EVIL], names: [EVIL], rows: [{ name: EVIL, about: EVIL, start: 0, pieces: [1, 100, 3, 50], steps: [[0, 150, 0]], calls: [[0, 50, 0]], marks: [[0, 9, 0]] }] },
    },
  }),
  "values of the wrong kind": envelope({
    verdict: [1], findings: [7, null, "x", { severity: 3, evidence: "x", next: {}, ranks: "y", expected: [] }], caveats: [1, { limits: "no" }], inputs: [null, 5],
    result: {
      curves: [1, { rows: [{ bytes: "x" }, null] }, { rows: [{ bytes: -5, busbw_GBps: 1e308 }, { bytes: 1e300, busbw_GBps: -1 }] }],
      rows: [1, { bytes: 8, latency_us: "x" }], steps: [{ ledger: 7 }], paths: [7, { from: 1 }], gpus: "x", terms: [null], path: [1, {}],
      graph: { nodes: [1, { type: "CPU", links: [{ to: 99 }, { to: -1, type: "PCI" }] }] },
    },
    pictures: {
      groups: [1, { ranks: ["a"], standings: [{ ranks: [1e9], last_enqueued: "x" }] }], waits: [7, {}],
      timeline: { rows: [{ pieces: [9, -5, 1] }, { start: 1e300, pieces: [1, 1e300] }, 3], names: 1, notes: 2 },
    },
  }),
  "nothing at all": envelope({}),
  "cycles in a machine": envelope({
    result: { gpus: [{ name: "GPU0", node: 1 }], nics: [], paths: [{ from: "GPU0", to: "GPU0", type: "LOC", hops: [] }, { from: "GPU0", to: "CPU0", type: "PHB", hops: [] }],
              graph: { nodes: [{ type: "CPU", links: [{ to: 1, type: "PCI" }, { to: 2, type: "PCI" }] }, { type: "GPU", links: [{ to: 0, type: "PCI" }] }, { type: "PCI", links: [{ to: 0, type: "PCI" }, { to: 2, type: "PCI" }] }] } },
  }),
};

for (const [name, document] of Object.entries(DOCUMENTS))
  test(name, async () => {
    const file = join(folder, "hostile.json");
    writeFileSync(file, JSON.stringify(document));
    const { page, problems, close } = await open(browser, makePage("hostile", ["report", file]));
    for (const summary of await page.locator("details > summary").all()) if (await summary.isVisible()) await summary.click();
    await page.waitForTimeout(50);
    assert.equal(await page.locator("script").count(), 2);  // the document and the program
    assert.equal(await page.locator("img, [onerror], [onload], [onclick]").count(), 0);
    assert.ok(!/[\u202e\u2028\u0000\u001b]/.test(await page.evaluate(() => document.body.innerText)));
    assert.deepEqual(problems, []);
    await close();
  });
