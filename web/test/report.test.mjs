// `report` makes of the JSON of a command the page that the command itself makes: the same parts, pictures and words.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { folder, launch, open, program, root, shared } from "./browser.mjs";
import { KINDS } from "./kinds.mjs";

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const inFolder = name => join(folder, `report-${name}`);

// One call, so that what is measured is the same in both.
function pageAndJson(kind) {
  const file = inFolder(`${kind.name}.html`), json = inFolder(`${kind.name}.json`);
  const run = spawnSync(program, [...kind.words, "--html", file, "--json"], { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });
  if (![0, 1, 5].includes(run.status) || !existsSync(file)) throw new Error(`status ${run.status}\n${run.stderr}`);
  writeFileSync(json, run.stdout);
  return { file, json, status: run.status };
}

function reported(json, name, words = []) {
  const file = inFolder(`${name}-of-json.html`);
  return { file, run: spawnSync(program, ["report", json, "-o", file, ...words], { cwd: root, encoding: "utf8" }) };
}

// What a person sees of one result: its sections, what is drawn in each, and every word.
const seen = page => page.locator("article").evaluate(article => ({
  sections: [...article.querySelectorAll("section")].map(section =>
    [section.className, section.querySelector("h3")?.textContent ?? "",
     ...["svg", "canvas", ".ledger", ".chart", "table", "details"].map(part => section.querySelectorAll(part).length)].join(" ")),
  words: [...article.querySelectorAll("section")].map(section => section.innerText),
}));

async function seenOn(file) {
  const { page, problems, close } = await open(browser, file);
  const found = await seen(page);
  assert.deepEqual(problems, []);
  await close();
  return found;
}

describe("a page out of JSON is the page of the command", () => {
  for (const kind of KINDS.filter(one => one.words.every(word => word !== "--lang")))
    test(kind.name, { skip: kind.isMissing && "no ../shared/data beside the sources" }, async context => {
      let made;
      try {
        made = pageAndJson(kind);
      } catch (error) {  // nobody can measure beside a dozen compilers
        if (kind.measures && /overloaded|did not finish in time/.test(error.message)) return context.skip(error.message);
        throw error;
      }
      const { file, run } = reported(made.json, kind.name);
      assert.equal(run.status, made.status, run.stderr);
      const [own, joined] = [await seenOn(made.file), await seenOn(file)];
      assert.ok(own.sections.length > 1);
      assert.deepEqual(joined.sections, own.sections);
      assert.deepEqual(joined.words, own.words);
    });
});

describe("report", () => {
  test("speaks the language that it is asked for, whatever wrote the JSON", async () => {
    const { json } = pageAndJson({ name: "language", words: ["doctor", "examples/two-nodes-slow"] });
    const { file } = reported(json, "language", ["--lang", "zh"]);
    const { page, close } = await open(browser, file);
    assert.equal(await page.locator("html").getAttribute("lang"), "zh");
    assert.match(await page.locator("article .verdict .sentence").innerText(), /^发现 \d+ 个/);
    assert.match(await page.locator("article details.finding .proof dd").first().innerText(), /[\u4e00-\u9fff]{6}/);
    await close();
  });

  test("names a document of another version, on the page too", async () => {
    const { json } = pageAndJson({ name: "version", words: ["calc", "all_reduce", "-n", "8", "-s", "64KiB", "--alpha", "10us", "--beta", "25GB/s"] });
    writeFileSync(json, JSON.stringify({ ...JSON.parse(readFileSync(json, "utf8")), comm_probe: "99.0" }));
    const { file, run } = reported(json, "version");
    assert.equal(run.status, 0);
    assert.match(run.stdout.replace(/\s+/g, " "), /report-version\.json \(comm-probe 99\.0\)/);
    const { page, close } = await open(browser, file);
    assert.match(await page.locator(".notes").first().innerText(), /comm-probe 99\.0/);
    await close();
  });
});
