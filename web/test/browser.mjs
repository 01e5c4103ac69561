// Debian's Chromium, and pages that the program makes from real inputs.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const shared = "../shared/data";  // from the root, where the program is run
export const isThere = path => existsSync(join(root, path));
export const program = process.env.COMM_PROBE ?? join(root, "build/comm-probe");
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const pictures = process.env.UPDATE_PICTURES ? join(root, "docs/pictures") : null;

export const folder = mkdtempSync(join(tmpdir(), "comm-probe-web-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

// The file of the page; a finding (1) or a limited conclusion (5) is a result.
export function makePage(name, words) {
  const file = join(folder, `${name}.html`);
  const run = spawnSync(program, [...words, "--html", file], { cwd: root, encoding: "utf8" });
  if (![0, 1, 5].includes(run.status) || !existsSync(file))
    throw new Error(`comm-probe ${words.join(" ")}: status ${run.status}\n${run.stderr}`);
  return file;
}

export function run(words) {
  return execFileSync(program, words, { cwd: root, encoding: "utf8" });
}

export const launch = () => chromium.launch({
  executablePath: browserPath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"],
});

// A page, and what went wrong on it: console messages, exceptions, requests to anywhere.
export async function open(browser, file, { width = 1280, scheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  const problems = [];
  page.on("console", message => {
    if (["error", "warning"].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", error => problems.push(`exception: ${error.message}`));
  page.on("dialog", dialog => { problems.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", request => {
    if (request.url() !== `file://${file}`) problems.push(`request: ${request.url()}`);
  });
  await page.goto(`file://${file}`);
  await page.waitForSelector("main");
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
  return { page, problems, close: () => context.close() };
}

// Kept under docs/ with UPDATE_PICTURES=1; else only taken.
export async function picture(pageOrPart, name) {
  if (pictures) mkdirSync(pictures, { recursive: true });
  await pageOrPart.screenshot({ path: pictures ? join(pictures, `${name}.png`) : undefined });
}
