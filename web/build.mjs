// Builds the pages, each one file that needs no network: prebuilt/page.html (--html) out of page.html,
// src/main.ts and src/style.css, prebuilt/drop.html (serve) out of drop.html, src/drop.ts, src/drop.css.
//   node build.mjs [FOLDER]
// The same sources give the same bytes: versions stand in package-lock.json, and nothing of the
// machine, the path or the clock goes in. `make test-web` builds it again and compares.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? join(here, "prebuilt");

async function bundle(entry) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2020",
    charset: "ascii",
    legalComments: "none",
  });
  return result.outputFiles[0].text.trim();
}

const hash = text => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

async function page(name, entry, sheet, allowed) {
  const program = await bundle(entry);
  const style = await bundle(sheet);
  // The browser parses them as they are: what would end their element must not stand there.
  for (const [text, end] of [[program, "</script"], [program, "<!--"], [style, "</style"]])
    if (text.toLowerCase().includes(end)) throw new Error(`the bundle holds ${end}`);
  const policy =
    `default-src 'none'; script-src ${hash(program)}; style-src ${hash(style)}; ` +
    `img-src data: blob:; base-uri 'none'; ${allowed}`;
  const text = readFileSync(join(here, name), "utf8")
    .replace("@policy@", () => policy)
    .replace("@style@", () => style)
    .replace("@program@", () => program);
  writeFileSync(join(folder, name), text);
  console.log(`${join(folder, name)}: ${Buffer.byteLength(text)} bytes`);
}

mkdirSync(folder, { recursive: true });
await page("page.html", "src/main.ts", "src/style.css", "form-action 'none'");
await page("drop.html", "src/drop.ts", "src/drop.css", "connect-src 'self'; form-action 'self'");
