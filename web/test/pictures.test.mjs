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

  test("doctor accuses whom hang accuses", () => onPage("mismatch-doctor", ["doctor", "examples/hang-step-3000"], async page => {
    assert.match((await page.locator(".verdict .who").innerText()).replace(/\s+/g, " "), /who rank 37 victims 63 ranks only wait: 0-36, 38-63 where code/);
    assert.match(await page.locator(".waiting").innerText(), /rank 37: in all_reduce/);
    assert.deepEqual(await texts(page, ".matrix text.culprit"), ["\u25b8 37"]);
    assert.doesNotMatch(await page.locator("main").innerText(), /nobody: all have issued it/);
  }));

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

describe("who a verdict is about stands in it", () => {
  const who = page => page.locator(".verdict .who").innerText();
  const gpuError = `${shared}/hang/15_gpu_error_only_active`;
  test("of a hang: the rank, who only waits, and where the cause lies", { skip: !isThere(gpuError) && "no ../shared/data/hang" }, () =>
    onPage("who", ["hang", gpuError], async page => {
      assert.match((await who(page)).replace(/\s+/g, " "), /who rank 2 victims 3 ranks only wait: 0, 1, 3 where environment/);
    }));
  const noDump = `${shared}/hang/07_rank_exited_no_dump`;
  test("of a hang: what else it can be", { skip: !isThere(noDump) && "no ../shared/data/hang" }, () =>
    onPage("or", ["hang", noDump], async page => {
      assert.match((await who(page)).replace(/\s+/g, " "), /who rank 3 victims 3 ranks only wait: 0-2 where undecided/);
      assert.match(await page.locator("main").innerText(), /network_or_hardware, decided by: the log or the dump of rank 3/);
    }));
  test("of a trace: the rank of the finding", { skip: !isThere(`${shared}/trace/cases/08_straggler`) && "no ../shared/data/trace" }, () =>
    onPage("who-trace", ["trace", `${shared}/trace/cases/08_straggler`], async page => assert.match(await who(page), /rank 2/)));
});

describe("a band is that of this run", () => {
  const c02 = `${shared}/field/curves/c02_aws_p4de_2n_allreduce_rankprefix.txt`;
  // healthy at 76.79 GB/s by a tree over two nodes; 40 to 48 GB/s are a ring's
  test("the band of a ring is not drawn where NCCL takes a tree", { skip: !isThere(c02) && "no ../shared/data/field" }, () =>
    onPage("no-band", ["curve", c02, "--machine", "aws-p4de", "--nodes", "2"], async page => {
      await page.waitForSelector(".chart canvas");
      assert.match(await page.locator(".curves figcaption").innerText(), /no band is drawn: NCCL's model takes nccl-tree here/);
      await page.setViewportSize({ width: 390, height: 800 });
      assert.doesNotMatch(await page.locator(".chart-marks").innerText(), /reference/);
    }));
  test("the band of one node is drawn", () => onPage("band", ["curve", "tests/inputs/h200x2/all_reduce.txt", "--machine", "dgx-h200"], async page => {
    await page.waitForSelector(".chart canvas");
    await page.setViewportSize({ width: 390, height: 800 });
    assert.match(await page.locator(".chart-marks").innerText(), /reference: /);
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

describe("what is left out is said", () => {
  test("the trees of many ranks", () => onPage("many", ["nccl", "plan", "--topo", topologyFile, "--nodes", "128"], async page => {
    assert.match(await page.locator(".channels").innerText(), /the trees of so many ranks, 8 deep, are left out; comm-probe nccl plan --full has them/);
  }));
  test("which version decides, and how many nodes", () => onPage("policy", ["topo", "check", "--from", topologyFile], async page => {
    assert.match(await page.locator("main").innerText(), /What NCCL decides: NCCL 2\.28, 2 nodes alike/);
  }));
  test("who says the figures of a link", () => onPage("assumed", ["calc", "all_reduce", "-n", "8", "-s", "64KiB", "--alpha", "10us", "--beta", "25GB/s"], async page => {
    assert.match(await page.locator("main").innerText(), /the link: alpha 10 us, beta 25 GB\/s \(assumed: given on the command line\)/);
  }));
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
