// The committed page is what its sources give, byte for byte, and small enough to mail.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, root } from "./browser.mjs";

test("web/prebuilt/page.html is fresh (if not: make web)", () => {
  const built = join(folder, "page.html");
  execFileSync(process.execPath, [join(root, "web/build.mjs"), built]);
  assert.ok(readFileSync(built).equals(readFileSync(join(root, "web/prebuilt/page.html"))),
            "web/prebuilt/page.html is older than web/src: run `make web` and commit it");
});

test("the page is smaller than 200 KB without data", () => {
  assert.ok(readFileSync(join(root, "web/prebuilt/page.html")).length < 200_000);
});
