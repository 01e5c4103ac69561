// The words beside the pointer. Only one is shown at a time.
import { clean, h } from "./dom";

const tip = h("div", { class: "tip", role: "status" });

export function hideTip(): void { tip.style.display = "none"; }

export function showTip(words: string, x: number, y: number): void {
  if (!tip.isConnected) document.body.appendChild(tip);
  if (!words) return hideTip();
  tip.textContent = clean(words);
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
}

// Shows what `words` says of the place below the pointer.
export function tipOver(element: Element, words: (event: PointerEvent) => string): void {
  element.addEventListener("pointermove", event => {
    const at = event as PointerEvent;
    showTip(words(at), at.clientX, at.clientY);
  });
  element.addEventListener("pointerleave", hideTip);
}
