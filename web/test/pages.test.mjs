// Every kind of page in Debian's Chromium: nothing goes wrong, nothing is cut off, what a person does
// with it works: findings unfold, the curve tells its values, devices show their paths.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { folder, launch, makePage, open, picture, root, shared } from "./browser.mjs";
import { KINDS } from "./kinds.mjs";

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const made = new Map();
function pageOf(name) {
  const kind = KINDS.find(one => one.name === name);
  if (!made.has(name)) made.set(name, makePage(name, kind.words));
  return made.get(name);
}
const missing = name => KINDS.find(one => one.name === name).isMissing && "no ../shared/data beside the sources";

// Wider than the window: somebody would have to scroll the whole page sideways.
const overflow = page => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

describe("every kind of page", () => {
  for (const kind of KINDS)
    test(kind.name, { skip: missing(kind.name) }, async context => {
      try {
        pageOf(kind.name);
      } catch (error) {  // nobody can measure beside a dozen compilers
        if (kind.measures && /overloaded/.test(error.message)) return context.skip(error.message);
        throw error;
      }
      for (const width of [1280, 390])
        for (const scheme of ["light", "dark"]) {
          const { page, problems, close } = await open(browser, pageOf(kind.name), { width, scheme });
          assert.equal(await page.locator(".verdict .sentence").count(), 1);
          for (const part of kind.shows) assert.ok(await page.locator(part).first().isVisible(), `${part} at ${width}`);
          for (const [part, times] of Object.entries(kind.count ?? {})) assert.equal(await page.locator(part).count(), times, part);
          assert.equal(await page.getByText("cannot be shown").count(), 0);
          assert.ok(await overflow(page) <= 0, `wider than the window at ${width}`);
          for (const keep of kind.keep ?? [])
            if (keep.width === width && keep.scheme === scheme)
              await picture(keep.part ? page.locator(keep.part).first() : page, `${kind.name}-${width}-${scheme}`);
          assert.deepEqual(problems, []);
          await close();
        }
    });
});

describe("large jobs", () => {
  const generator = join(root, shared, "../tools/gen_trace.py");
  const hasGenerator = existsSync(generator) && spawnSync("python3", ["--version"]).status === 0;
  test("a trace of 64 ranks opens in less than 2 s", { skip: !hasGenerator && "no ../shared/tools/gen_trace.py, or no python3" }, async () => {
    const traces = join(folder, "ranks64");
    execFileSync("python3", [generator, "--out", traces, "--ranks", "64", "--steps", "2", "--gz", "--straggler", "5:compute:1.2"], { stdio: "ignore" });
    const file = makePage("trace64", ["trace", traces]);
    const started = Date.now();
    const { page, problems, close } = await open(browser, file);
    await page.locator(".timeline canvas").waitFor();
    assert.ok(Date.now() - started < 2000, `${Date.now() - started} ms`);
    await picture(page.locator(".timeline"), "trace64-1280-light");
    assert.deepEqual(problems, []);
    await close();
  });
});

describe("what a person does", () => {
  test("the page speaks the language that was asked for", async () => {
    const { page, problems, close } = await open(browser, pageOf("doctor-zh"));
    assert.equal(await page.locator("html").getAttribute("lang"), "zh");
    assert.match(await page.locator(".verdict .sentence").innerText(), /^发现 \d+ 个/);
    assert.equal(await page.locator(".findings h3").innerText(), "发现");
    assert.match(await page.locator("details.finding .proof dd").first().innerText(), /[\u4e00-\u9fff]{6}/);
    assert.deepEqual(problems, []);
    await close();
  });

  test("a finding unfolds by click and by key", async () => {
    const { page, problems, close } = await open(browser, pageOf("doctor"));
    const finding = page.locator("details.finding").nth(1);
    assert.equal(await finding.locator(".proof").count(), 0);
    await finding.locator("summary").click();
    await finding.locator(".proof .evidence").first().waitFor();
    await finding.locator(".proof .next").first().waitFor();
    await finding.locator("summary").focus();
    await page.keyboard.press("Enter");
    await finding.locator(".proof").waitFor({ state: "hidden" });
    assert.deepEqual(problems, []);
    await close();
  });

  test("the curve tells its values under the pointer and by arrow keys", { skip: missing("curve") }, async () => {
    const { page, problems, close } = await open(browser, pageOf("curve"));
    const chart = page.locator(".chart .u-over");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width - 3, box.y + box.height / 2);
    // the last row of the table: 2 GiB, busbw 78.33 GB/s
    assert.match(await page.locator(".values").innerText(), /2 GiB[\s\S]*78\.33 GB\/s/);
    await page.locator(".chart").focus();
    await page.keyboard.press("Home");
    assert.match(await page.locator(".values").innerText(), /^8 B/);
    await page.getByRole("button", { name: "time", exact: true }).click();
    await page.waitForSelector(".chart canvas");
    assert.deepEqual(problems, []);
    await close();
  });

  test("a device shows the paths to all others, and the hops to one", { skip: missing("topo") }, async () => {
    const { page, problems, close } = await open(browser, pageOf("topo"));
    await page.locator(".machine .gpu").first().click();
    // GPU0 of this machine: mlx5_0 behind one switch, mlx5_3 through the CPU, mlx5_9 on the other socket
    const family = name => page.locator(".machine .nic", { hasText: name }).getAttribute("data-path");
    assert.deepEqual(await Promise.all(["mlx5_0", "mlx5_3", "mlx5_9"].map(family)), ["pix", "phb", "sys"]);
    await page.locator(".machine .nic", { hasText: "mlx5_3" }).hover();
    assert.match(await page.locator(".tip").innerText(), /GPU0 → mlx5_3: PHB[\s\S]*hops: .*CPU0/);
    assert.ok(await page.locator(".machine .cpu.on").count() === 1);
    assert.deepEqual(problems, []);
    await close();
  });

  test("the time line zooms and tells what is under the pointer", { skip: missing("trace") }, async () => {
    const { page, problems, close } = await open(browser, pageOf("trace"));
    const rows = page.locator(".rows");
    await rows.scrollIntoViewIfNeeded();
    const box = await rows.boundingBox();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60);
    assert.match(await page.locator(".tip").innerText(), /^rank 0 at /);
    const before = (await rows.screenshot()).toString("base64");
    await page.getByRole("button", { name: "zoom in" }).click();
    await page.waitForTimeout(80);
    assert.notEqual((await rows.screenshot()).toString("base64"), before);
    assert.deepEqual(problems, []);
    await close();
  });

  test("the button turns light into dark, and paper is light", async () => {
    const { page, problems, close } = await open(browser, pageOf("doctor"));
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await back();
    await page.getByRole("button", { name: "light / dark" }).click();
    assert.notEqual(await back(), light);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await back(), light);
    assert.equal(await page.locator("details.finding:not([open])").count(), 0);
    assert.deepEqual(problems, []);
    await close();
  });

  test("several results stand on one page", async () => {
    const joined = makePage("joined", ["report", pageOf("doctor"), pageOf("calc")].slice(0, 3));
    const { page, problems, close } = await open(browser, joined);
    assert.equal(await page.locator("article").count(), 2);
    assert.equal(await page.locator(".overview li").count(), 2);
    assert.deepEqual(problems, []);
    await close();
  });
});
