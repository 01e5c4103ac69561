// The page of `comm-probe serve`: files go to doctor on the machine that serves it, the browser goes to
// the page that comes back. Without this program the form works too, for files that are chosen.
import { Chosen, dropped, picked } from "./chosen";
import { append, h } from "./dom";
import { bytes } from "./format";
import { Fields, fields, number, text } from "./json";
import { themeButton } from "./theme";

const part = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const chosen: Chosen[] = [];
let sending: XMLHttpRequest | null = null;
let limit = Infinity;

const size = (): number => chosen.reduce((sum, one) => sum + one.file.size, 0);

function say(state: string, problem = ""): void {
  part("state").textContent = state;
  part("problem").textContent = problem;
}

function row(one: Chosen): HTMLElement {
  const remove = h("button", { type: "button", "aria-label": `remove ${one.path}` }, "remove");
  remove.addEventListener("click", () => {
    chosen.splice(chosen.indexOf(one), 1);
    show();
    part("files").focus();
  });
  return h("li", {}, h("span", {}, one.path), h("span", { class: "size" }, bytes(one.file.size)), remove);
}

const MOST_ROWS = 200;
function show(): void {
  const list = part("chosen");
  list.replaceChildren();
  append(list, chosen.slice(0, MOST_ROWS).map(row));
  if (chosen.length > MOST_ROWS) append(list, h("li", {}, `and ${chosen.length - MOST_ROWS} more`));
  part("total").textContent = chosen.length === 0 ? "" : `${chosen.length} file${chosen.length === 1 ? "" : "s"}, ${bytes(size())}`;
  part("clear").hidden = chosen.length === 0;
  const isLarge = size() > limit;
  say("", isLarge ? `${bytes(size())} is more than an upload may hold (${bytes(limit)}): start comm-probe serve with a larger --limit, ` +
                    "or name the files to comm-probe doctor" : "");
  part<HTMLButtonElement>("send").disabled = isLarge || sending !== null;
}

function add(more: Chosen[]): void {
  chosen.push(...more);
  show();
  if (more.length > 0) part("send").focus();
}

function body(): FormData {
  const form = new FormData();
  for (const one of chosen) form.append("file", one.file, one.path);
  return form;
}

function ended(request: XMLHttpRequest): void {
  stop();
  if (request.status === 200 && request.responseURL.includes("/page/")) {
    say("doctor has answered");
    location.assign(request.responseURL);
  } else {
    say("", request.responseText.replace(/^comm-probe: /, "").trim() || `the answer is ${request.status} ${request.statusText}`);
  }
}

function stop(): void {
  sending = null;
  part("progress").hidden = true;
  part<HTMLButtonElement>("send").disabled = false;
}

function send(): void {
  const request = new XMLHttpRequest();
  const progress = part<HTMLProgressElement>("progress");
  sending = request;
  part<HTMLButtonElement>("send").disabled = true;
  progress.hidden = false;
  say("sending");
  request.upload.addEventListener("progress", event => { progress.value = event.total > 0 ? event.loaded / event.total : 0; });
  request.upload.addEventListener("load", () => say("doctor reads the files"));
  request.addEventListener("load", () => ended(request));
  request.addEventListener("error", () => {
    stop();
    say("", "comm-probe serve does not answer; does it still run? The upload may also be larger than it takes.");
  });
  request.open("POST", "doctor");
  request.send(body());
}

function listen(): void {
  const input = part<HTMLInputElement>("files");
  const drop = part("drop");
  input.addEventListener("change", () => { add(picked(input)); input.value = ""; });
  part("clear").addEventListener("click", () => { chosen.length = 0; show(); input.focus(); });
  part("form").addEventListener("submit", event => {
    event.preventDefault();
    if (sending !== null) return;
    if (chosen.length === 0) { say("", "no file is chosen"); return; }
    send();
  });
  // anywhere on the page: a file beside the box would replace the page
  addEventListener("dragover", event => { event.preventDefault(); drop.classList.add("over"); });
  addEventListener("dragleave", event => { if (event.relatedTarget === null) drop.classList.remove("over"); });
  addEventListener("drop", event => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer) dropped(event.dataTransfer).then(add, error => say("", `cannot read what was dropped: ${String(error)}`));
  });
}

function start(facts: Fields): void {
  const most = number(facts, "limit_bytes");
  if (most !== null && most !== undefined) limit = most;
  part("version").textContent = text(facts, "version");
  document.querySelector("header")?.append(themeButton());
  document.body.classList.add("ready");  // the list below says what is chosen
  listen();
  show();
}

start(fields(JSON.parse(part("document").textContent ?? "{}")));
