// What pictures and badges claim: who is accused in a hang, what is green, which bars share a scale.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { folder, isThere, launch, makePage, open, root, shared } from "./browser.mjs";

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const topologyFile = "tests/inputs/h200x2/nccl-topo.xml";

async function onPage(name, words, look) {
  const { page, problems, close } = await open(browser, makePage(name, words));
  await look(page);
  assert.deepEqual(problems, []);
  await close();
}

const texts = (page, part) => page.locator(part).allTextContents();  // of SVG as well

describe("who is accused in a hang", () => {
  test("members that made another call of the same number hold the others back", () =>
    onPage("mismatch", ["hang", "examples/hang-step-3000"], async page => {
      const words = await page.locator(".waiting").innerText();
      assert.match(words, /ranks 0-36, 38-63/);
      assert.match(words, /rank 37: in all_reduce/);
      assert.doesNotMatch(words, /dashed/);
    }));

  test("ranks without a dump are not known, the rank of the verdict holds the others back", () => {
    const some = join(folder, "four-dumps");
    mkdirSync(some);
    const dumps = readdirSync(join(root, "examples/hang-step-3000"), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && /(^|[^0-9])(0|1|2|37)([^0-9]|$)/.test(entry.name));
    assert.equal(dumps.length, 4);
    for (const entry of dumps) cpSync(join(entry.parentPath ?? entry.path, entry.name), join(some, entry.name));
    return onPage("mismatch-some", ["hang", some], async page => {
      const boxes = await texts(page, ".waiting .box text");
      assert.ok(boxes.includes("ranks 0-2"), boxes.join("|"));
      assert.ok(boxes.some(words => /^\u25b8 rank 37: in all_reduce/.test(words)), boxes.join("|"));
      assert.ok(boxes.some(words => /not known: no dump/.test(words)));
      assert.equal(await page.locator(".waiting .link.open").count(), 1);
      assert.equal(await page.locator(".waiting .box.behind").count(), 1);
    });
  });

  const missingSend = `${shared}/hang/09_p2p_missing_send`;
  test("a missing send: only the rank that did not send is red", { skip: !isThere(missingSend) && "no ../shared/data/hang" }, () =>
    onPage("missing-send", ["hang", missingSend], async page => {
      const rows = await texts(page, ".matrix text.culprit");
      assert.deepEqual(rows, ["\u25b8 1"]);
      assert.equal(await page.locator(".matrix .cell.behind").count(), 1);
      assert.deepEqual(await texts(page, ".matrix text.on.behind"), ["p2p missing"]);
      assert.deepEqual(await texts(page, ".matrix text.on.waits"), ["1/2", "1/2", "waits in p2p", "waits in p2p"]);
      assert.deepEqual(await texts(page, ".waiting .box.behind text"), ["\u25b8 rank 1: not issued"]);
      assert.doesNotMatch(await page.locator(".matrix").innerText(), /all ranks agree/);
    }));

  const bothSend = `${shared}/hang/10_p2p_both_send_first`;
  test("two sends that meet no receive wait for each other", { skip: !isThere(bothSend) && "no ../shared/data/hang" }, () =>
    onPage("both-send", ["hang", bothSend], async page => {
      assert.equal(await page.locator(".waiting .link.again").count(), 2);
      assert.equal(await page.locator(".matrix .cell.waits").count(), 2);
    }));
});

const badge = page => page.locator(".verdict .sign").innerText();

describe("nothing is green that nobody judged", () => {
  const unjudged = [
    ["a curve without a reference", ["curve", "examples/two-nodes-slow/allreduce_2nodes.txt"]],
    ["a simulation", ["sim", "all_reduce", "-n", "64", "-s", "64KiB", "--alpha", "5us", "--beta", "50GB/s", "--late", "5:2ms"]],
    ["a plan", ["nccl", "plan", "--topo", topologyFile, "--nodes", "4"]],
    ["a choice", ["nccl", "choose", "all_reduce", "--topo", topologyFile, "--nodes", "2", "-s", "25MB"]],
    ["a calculation", ["calc", "all_reduce", "-n", "8", "-s", "64KiB", "--alpha", "10us", "--beta", "25GB/s"]],
  ];
  unjudged.forEach(([name, words], index) =>
    test(name, () => onPage(`unjudged-${index}`, words, async page => assert.match(await badge(page), /facts, not judged/))));

  test("a pile in which no question has an answer is limited", () =>
    onPage("unanswered", ["doctor", "examples/two-nodes-slow/allreduce_2nodes.txt"], async page => assert.match(await badge(page), /limited/)));

  test("healthy dumps are judged", () =>
    onPage("healthy", ["hang", "tests/inputs/h200x2/hang/healthy"], async page => assert.match(await badge(page), /nothing wrong found/)));
});

const width = part => part.evaluate(element => element.getBoundingClientRect().width);

describe("bars and lines", () => {
  // calc moe prints 4.239 ms where all experts are chosen alike and 28.43 ms with this routing
  test("all times of an MoE layer have one scale, on both links", () => onPage("routing", ["calc", "moe", "--hidden", "7168", "--topk", "8",
      "--nodes", "8", "--machine", "dgx-h100", "--tokens", "4096", "--routing", "zipf:1"], async page => {
    const row = name => page.locator(".schemes .ledger", { has: page.locator(".name", { hasText: name }) }).first();
    const alike = await width(row(/^flat, dispatch$/).locator("i.latency"));
    const routed = await width(row("as numbered, flat, dispatch").locator("i.latency"));
    assert.ok(Math.abs(routed / alike - 28.43 / 4.239) < 0.05, `${routed / alike}`);
    // 1.353 GB on NVLink at 450 GB/s take 3.006 ms
    const nvlink = await width(row("as numbered, dedup, dispatch").locator("i.bandwidth"));
    assert.ok(Math.abs(routed / nvlink - 28.43 / 3.006) < 0.2, `${routed / nvlink}`);
    assert.doesNotMatch(await page.locator(".schemes").innerText(), /MiB|by the nic\b/);
  }));

  test("a simulation says its link, who is late, and what that costs", () => onPage("late", ["sim", "all_reduce", "-n", "64", "-s", "64KiB",
      "--alpha", "5us", "--beta", "50GB/s", "--late", "5:2ms", "--slow-link", "17:*:0.5"], async page => {
    const words = await page.locator(".costs").innerText();
    for (const said of [/alpha 5 us, beta 50 GB\/s \(assumed: given on the command line\)/, /rank 5 comes 2 ms late/, /\+ 2 ms \(\+316 %\)/,
                        /the NIC of 17 at 0\.5 of its rate/]) assert.match(words, said);
  }));

  test("what forcing another algorithm costs is a table, and candidates of one size are bars", () => onPage("one-size", ["nccl", "choose", "all_reduce",
      "--topo", topologyFile, "--nodes", "2", "-s", "25MB"], async page => {
    assert.match(await page.locator(".forced tbody tr").first().innerText(), /25 MB[\s\S]*taken[\s\S]*x (steps|bytes)/);
    assert.ok(await page.locator(".ledger").count() >= 4);
    assert.equal(await page.locator(".chart").count(), 0);
  }));

  test("no two lines of nccl choose look alike", () => onPage("all-sizes", ["nccl", "choose", "all_reduce", "--topo", topologyFile, "--nodes", "2",
      "-b", "8K", "-e", "2G", "-f", "4"], async page => {
    await page.waitForSelector(".chart-legend i");
    const looks = await page.locator(".chart-legend i").evaluateAll(signs => signs.map(sign => sign.className + sign.style.getPropertyValue("--paint")));
    assert.equal(new Set(looks).size, looks.length, looks.join(" "));
  }));

  test("one small size: labels are not cut, no plateau is drawn, and no point lies at 0", () => {
    const file = join(folder, "one-size.txt");
    writeFileSync(file, ["# nThread 1 nGpus 1 minBytes 256 maxBytes 256 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0", "#",
      "#                                                              out-of-place                       in-place",
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)",
      "         256            64     float     sum      -1   163.33    0.00    0.00      0   163.41    0.00    0.00      0", ""].join("\n"));
    return onPage("small", ["curve", file], async page => {
      await page.waitForSelector(".u-axis");
      assert.ok(await width(page.locator(".u-axis").nth(1)) >= 70);
      assert.match(await badge(page), /not judged/);
      await page.locator(".chart").focus();
      await page.keyboard.press("Home");
      assert.match(await page.locator(".values").innerText(), /256 B[\s\S]*0\.00\d+ GB\/s/);
      assert.equal(await page.locator(".chart-marks").count(), 0);
    });
  });
});
