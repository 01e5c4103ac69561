// Every word that the page says by itself is translated: what is said goes through t("..."), and what goes through it
// has its text in Chinese (src/core/texts/zh_page.txt), with as many places for values. drop.ts is the page of serve,
// which speaks English only.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import ts from "typescript";
import { root } from "./browser.mjs";

const folder = join(root, "web/src");
const ENGLISH_ONLY = new Set(["drop.ts", "chosen.ts"]);
const sources = readdirSync(folder, { recursive: true }).filter(name => name.endsWith(".ts") && !ENGLISH_ONLY.has(name))
  .map(name => ({ name, tree: ts.createSourceFile(name, readFileSync(join(folder, name), "utf8"), ts.ScriptTarget.ES2020, true) }));

// [key] and "text: ..." below it; the words of reports are sent along.
function textsOf(file) {
  const texts = new Map();
  let key = "";
  for (const line of readFileSync(join(root, "src/core/texts", file), "utf8").split("\n")) {
    if (/^\[.*\]$/.test(line)) key = line.slice(1, -1);
    else if (line.startsWith("text: ")) texts.set(key, line.slice(6));
  }
  return texts;
}
const page = textsOf("zh_page.txt");
const reported = /kWords = \{([^;]*)\};/s.exec(readFileSync(join(root, "src/report/words.cc"), "utf8"))[1];
const ofReports = new Set([...reported.matchAll(/"([^"]*)"/g)].map(found => found[1]));
const labels = textsOf("zh_labels.txt");
const chinese = key => page.get(key) ?? (ofReports.has(key) ? labels.get(key) : undefined);

function walk(node, visit) {
  visit(node);
  ts.forEachChild(node, child => walk(child, visit));
}
const nameOf = call => call.expression.getText();
const placeOf = (source, node) => `${source.name}:${source.tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;

// Literals among the first argument of a call: t(isOne ? "a" : "b").
function literals(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node];
  if (ts.isConditionalExpression(node)) return [...literals(node.whenTrue), ...literals(node.whenFalse)];
  return [];
}

const used = new Map();
for (const source of sources)
  walk(source.tree, node => {
    if (!ts.isCallExpression(node)) return;
    if (["t", "w"].includes(nameOf(node)))
      for (const literal of literals(node.arguments[0])) used.set(literal.text, placeOf(source, literal));
    if (nameOf(node) === "count" && node.arguments[1]) for (const literal of literals(node.arguments[1])) used.set(`{} ${literal.text}s`, placeOf(source, literal));
  });

test("every word of the page has its Chinese text, with its values", () => {
  assert.ok(used.size > 150, `${used.size}`);
  const places = words => (words.match(/\{\}/g) ?? []).length;
  for (const [key, place] of used) {
    assert.ok(chinese(key), `${place}: "${key}" is not in src/core/texts/zh_page.txt`);
    assert.equal(places(chinese(key)), places(key), key);
    assert.match(chinese(key), /[\u4e00-\u9fff]|^(rank|channel|spread)[ {}]*$/, key);
  }
});

// Written by the program into the document, shown as t(...) of a value; the page adds nothing to them.
const OF_DOCUMENTS = new Set(["healthy", "stuck", "slow", "failed", "wrong", "code", "environment", "undecided", "code or environment",
  "below the band", "in the ring's band", "below NCCL's model", "as NCCL's model", "not saturated", "without a reference", "on a shared GPU", "without rows",
  "faulty", "path not known", "pass", "fail", "see above", "does not apply", "not known", "yes", "no"]);
test("no text is left over", () => {
  for (const key of page.keys()) assert.ok(used.has(key) || OF_DOCUMENTS.has(key), `nothing says "${key}"`);
});

// Names that are the same in every language, and what is no text at all.
const isName = words => /^(busbw|NCCL|NIC|NVLink|NVSwitch|GB\/s|alpha|beta|comm-probe|GPU|CPU|NET)?[\s\d.,:;?/()\u2026\u2013\u25b8+x%\-]*$/.test(words);
// properties that are read
const SAID = new Set(["title", "aria-label", "name", "says", "about", "why", "short"]);
const looksSaid = words => /[A-Za-z]{2,} [a-z]{2,}/.test(words) && !/^inset |^missing open$|^of group$/.test(words);

test("nothing is said that no one translates", () => {
  const wrong = [];
  for (const source of sources)
    walk(source.tree, node => {
      const isText = ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
      if (!isText || ts.isImportDeclaration(node.parent) || (ts.isPropertyAssignment(node.parent) && node.parent.name === node)) return;
      if (ts.isBinaryExpression(node.parent) && [ts.SyntaxKind.EqualsEqualsEqualsToken, ts.SyntaxKind.ExclamationEqualsEqualsToken].includes(node.parent.operatorToken.kind)) return;
      let outer = node.parent;
      while (ts.isTemplateSpan(outer) || ts.isTemplateExpression(outer) || ts.isConditionalExpression(outer) || ts.isParenthesizedExpression(outer) ||
             (ts.isBinaryExpression(outer) && outer.operatorToken.kind === ts.SyntaxKind.PlusToken)) {
        if (ts.isConditionalExpression(outer) && outer.condition.getStart() <= node.getStart() && node.getEnd() <= outer.condition.getEnd()) return;
        outer = outer.parent;
      }
      const words = node.text.trim();
      if (OF_DOCUMENTS.has(words) || /^comm-probe [a-z]+$/.test(words)) return;
      if (ts.isCallExpression(outer)) {
        const called = nameOf(outer), index = outer.arguments.findIndex(one => one.getStart() <= node.getStart() && node.getEnd() <= one.getEnd());
        if (["t", "w", "count", "console.warn", "getContext", "querySelector"].some(name => called === name || called.endsWith(`.${name}`))) return;
        const isChild = (called === "h" || called === "s") && index >= 2;
        if ((isChild && !isName(words)) || (["box", "row", "cost"].includes(called) && looksSaid(words))) wrong.push(`${placeOf(source, node)}: ${words}`);
        else if (looksSaid(words) && /^(h|s|folded|shortened|showTip)$/.test(called) && index >= 1 && !isChild && !ts.isObjectLiteralExpression(node.parent)) wrong.push(`${placeOf(source, node)}: ${words}`);
      } else if (ts.isPropertyAssignment(outer)) {
        const name = outer.name.getText().replace(/"/g, "");
        const isStyle = ["class", "d", "viewBox", "font", "look", "transform", "points", "style"].includes(name);
        if (!isStyle && ((SAID.has(name) && !isName(words)) || looksSaid(words))) wrong.push(`${placeOf(source, node)}: ${words}`);
      } else if (looksSaid(words) && !/^(system-ui|\d+px)|system-ui/.test(words)) wrong.push(`${placeOf(source, node)}: ${words}`);
      else if (ts.isArrayLiteralExpression(outer) && ts.isCallExpression(outer.parent) && ["h", "s"].includes(nameOf(outer.parent)) && !isName(words)) wrong.push(`${placeOf(source, node)}: ${words}`);
    });
  assert.deepEqual(wrong, []);
});
