// Builds the page: src/ and page.html become prebuilt/page.html, one file that needs no network.
//   node build.mjs [OUTPUT]
// The same sources give the same bytes: versions stand in package-lock.json, and nothing of the
// machine, the path or the clock goes in. `make test-web` builds it again and compares.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "prebuilt/page.html");

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

const program = await bundle("src/main.ts");
const style = await bundle("src/style.css");
// The browser parses them as they are: what would end their element must not stand there.
for (const [text, end] of [[program, "</script"], [program, "<!--"], [style, "</style"]])
  if (text.toLowerCase().includes(end)) throw new Error(`the bundle holds ${end}`);

const policy =
  `default-src 'none'; script-src ${hash(program)}; style-src ${hash(style)}; ` +
  `img-src data: blob:; base-uri 'none'; form-action 'none'`;
const page = readFileSync(join(here, "page.html"), "utf8")
  .replace("@policy@", () => policy)
  .replace("@style@", () => style)
  .replace("@program@", () => program);

mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, page);
console.log(`${target}: ${Buffer.byteLength(page)} bytes`);
