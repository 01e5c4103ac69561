// The committed page is what its sources give, byte for byte, and small enough to mail.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, root } from "./browser.mjs";

const PAGES = ["page.html", "drop.html"];

test("web/prebuilt is fresh (if not: make web)", () => {
  const built = join(folder, "prebuilt");
  execFileSync(process.execPath, [join(root, "web/build.mjs"), built]);
  for (const page of PAGES)
    assert.ok(readFileSync(join(built, page)).equals(readFileSync(join(root, "web/prebuilt", page))),
              `web/prebuilt/${page} is older than web/src: run \`make web\` and commit it`);
});

test("a page is smaller than 200 KB without data", () => {
  for (const page of PAGES) assert.ok(readFileSync(join(root, "web/prebuilt", page)).length < 200_000, page);
});
