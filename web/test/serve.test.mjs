// The page of `comm-probe serve` in Chromium: files are chosen, dropped, refused; doctor's page comes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, picture, program, root } from "./browser.mjs";

let browser, server, address;
const LIMIT = 2 ** 20;
const pile = join(root, "examples/two-nodes-slow");
const files = () => readdirSync(pile, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile()).map(entry => join(entry.parentPath ?? entry.path, entry.name));

// `serve --json` prints one document and goes on.
function started(process) {
  return new Promise((done, failed) => {
    let text = "";
    process.stdout.on("data", part => {
      text += part;
      try { done(JSON.parse(text).result.address); } catch { /* not all of it yet */ }
    });
    process.on("exit", status => failed(new Error(`serve ended: ${status}`)));
  });
}

before(async () => {
  browser = await launch();
  server = spawn(program, ["serve", "--port", "0", "--json", "--limit", String(LIMIT)], { stdio: ["ignore", "pipe", "inherit"] });
  address = await started(server);
});
after(async () => {
  await browser.close();
  const ended = new Promise(done => server.on("exit", done));
  server.kill("SIGINT");
  assert.equal(await ended, 0);
});

async function open({ width = 1280, scheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  const problems = [];
  page.on("console", message => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", error => problems.push(`exception: ${error.message}`));
  page.on("request", request => { if (!request.url().startsWith(address)) problems.push(`request: ${request.url()}`); });
  await page.goto(address);
  return { page, problems, close: () => context.close() };
}

// As a person drops them: a DataTransfer in the page.
async function drop(page, named) {
  const transfer = await page.evaluateHandle(list => {
    const made = new DataTransfer();
    for (const [name, text] of list) made.items.add(new File([text], name));
    return made;
  }, named);
  await page.dispatchEvent("#drop", "drop", { dataTransfer: transfer });
}

test("fits, light and dark, wide and narrow", async () => {
  for (const width of [1280, 390])
    for (const scheme of ["light", "dark"]) {
      const { page, problems, close } = await open({ width, scheme });
      assert.ok(await page.getByRole("button", { name: "Ask doctor" }).isVisible());
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth) <= 0);
      await page.locator("#files").setInputFiles(files());
      if ((width === 1280) === (scheme === "light")) await picture(page, `serve-${width}-${scheme}`);
      assert.deepEqual(problems, []);
      await close();
    }
});

test("dropped files give doctor's page", async () => {
  const { page, problems, close } = await open();
  await drop(page, files().map(file => [file.slice(pile.length + 1), readFileSync(file, "utf8")]));
  await page.locator("#chosen li").nth(files().length - 1).waitFor();
  await page.getByRole("button", { name: "Ask doctor" }).click();
  await page.waitForURL(/\/page\/[0-9a-f]{32}$/);
  await page.locator(".verdict .sentence").waitFor();
  assert.ok(await page.locator("details.finding").count() > 0);
  assert.match(await page.locator("header h1").innerText(), /comm-probe doctor/);
  assert.deepEqual(problems, []);
  await close();
});

test("the keyboard is enough, and a file can be taken out again", async () => {
  const { page, problems, close } = await open();
  await page.locator("#files").setInputFiles(files().slice(0, 2));
  assert.equal(await page.locator("#chosen li").count(), 2);
  await page.locator("#chosen button").first().focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#chosen li").count(), 1);
  await page.getByRole("button", { name: "Ask doctor" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/page\//);
  await page.locator(".verdict").waitFor();
  assert.deepEqual(problems, []);
  await close();
});

test("what is refused is said, and the page stays", async () => {
  const { page, close } = await open();
  await page.getByRole("button", { name: "Ask doctor" }).click();
  assert.match(await page.getByRole("alert").innerText(), /no file is chosen/);
  await drop(page, [["photo.png", "\u0089PNG\r\n\u001a\n\u0007\u0007\u0007"]]);
  await page.getByRole("button", { name: "Ask doctor" }).click();
  await page.waitForFunction(() => /upload\/photo\.png/.test(document.getElementById("problem").textContent));
  await page.getByRole("button", { name: "Start over" }).click();
  await drop(page, [["large.log", "x".repeat(LIMIT + 1)]]);
  await page.waitForFunction(() => /more than an upload may hold \(1 MiB\)/.test(document.getElementById("problem").textContent));
  assert.ok(await page.getByRole("button", { name: "Ask doctor" }).isDisabled());
  await close();
});

test("names of files stay texts", async () => {
  const { page, problems, close } = await open();
  await drop(page, [["<img src=x onerror=alert(1)>.log", "x"]]);
  await page.locator("#chosen li").waitFor();
  assert.equal(await page.locator("#chosen img").count(), 0);
  assert.match(await page.locator("#chosen").innerText(), /<img src=x/);
  assert.deepEqual(problems, []);
  await close();
});

test("a page from elsewhere cannot post", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route("http://evil.example/", route => route.fulfill({ contentType: "text/html", body: "<p>evil</p>" }));
  await page.goto("http://evil.example/");
  const status = await page.evaluate(async target => {
    const form = new FormData();
    form.append("file", new File(["x"], "a.log"));
    try { return (await fetch(`${target}doctor`, { method: "POST", body: form })).status; } catch (error) { return String(error); }
  }, address);
  assert.match(String(status), /TypeError|403/);
  await context.close();
});
