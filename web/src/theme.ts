// Light and dark: what the system says, until the button says otherwise.
import { h } from "./dom";
import { t } from "./words";

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];

export const isDark = (): boolean => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
// The value of a colour of style.css, for what is drawn on a canvas.
export const color = (name: string): string => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
// Called when the theme changed: what is drawn on a canvas is drawn again.
export const onTheme = (redraw: () => void): void => { listeners.push(redraw); };

const tell = () => { for (const redraw of listeners) redraw(); };

export function themeButton(): HTMLElement {
  const button = h("button", { class: "theme", title: t("light or dark") }, t("light / dark"));
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    tell();
  });
  system.addEventListener("change", tell);
  return button;
}

// On paper the findings are open and the colours those of the light page.
export function prepareForPrint(): void {
  let before: string | undefined;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    for (const finding of document.querySelectorAll("details.finding")) finding.dispatchEvent(new Event("build"));
    tell();
  });
  addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    tell();
  });
}
