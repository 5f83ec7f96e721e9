import { button, h, icon } from "../dom.js";
import { dragToFold } from "../sheet.js";
import type { ToolParts } from "../tool-parts.js";

/** A panel below the map that can be made higher and lower; a sheet on phones. */

export interface PanelParts {
  readonly label: string;
  readonly header: readonly HTMLElement[];
  readonly body: readonly HTMLElement[];
  resized(): void;
  closed(): void;
}

export interface BottomPanel {
  readonly element: HTMLElement;
  close(): void;
}

const least = 150;
const step = 40;
/** Kept while the page is open. */
let lastHeight: number | undefined;

export function bottomPanel({ root, view, locale }: ToolParts, parts: PanelParts): BottomPanel {
  const { t } = locale;
  const opener = document.activeElement;
  const closer = button(
    { class: "icon-button", "aria-label": t("close"), title: t("close") },
    () => close(),
    icon("close"),
  );
  const handle = h("div", {
    class: "bottom-handle",
    role: "separator",
    tabindex: 0,
    "aria-orientation": "horizontal",
    "aria-label": t("resizeTable"),
    "aria-valuemin": least,
  });
  const element = h(
    "section",
    { class: "card bottom-panel", "aria-label": parts.label },
    handle,
    h("header", { class: "bottom-header" }, ...parts.header, closer),
    ...parts.body,
  );
  const most = () => Math.max(least, Math.round(window.innerHeight * 0.85));
  let height = 0;
  const resize = (wanted: number) => {
    height = Math.round(Math.min(most(), Math.max(least, wanted)));
    lastHeight = height;
    root.style.setProperty("--bottom-panel", `${height}px`);
    handle.setAttribute("aria-valuenow", String(height));
    handle.setAttribute("aria-valuemax", String(most()));
    view.covered = height;
    parts.resized();
  };
  let from: { readonly y: number; readonly height: number } | undefined;
  handle.addEventListener("pointerdown", (event) => {
    from = { y: event.clientY, height };
    handle.setPointerCapture(event.pointerId);
    event.preventDefault();
    handle.focus({ preventScroll: true });
  });
  handle.addEventListener("pointermove", (event) => {
    if (from) resize(from.height + from.y - event.clientY);
  });
  const end = () => {
    from = undefined;
  };
  handle.addEventListener("pointerup", end);
  handle.addEventListener("pointercancel", end);
  handle.addEventListener("keydown", (event) => {
    const change = { ArrowUp: step, ArrowDown: -step, PageUp: 4 * step, PageDown: -4 * step }[event.key];
    if (change === undefined && event.key !== "Home" && event.key !== "End") return;
    resize(change !== undefined ? height + change : event.key === "Home" ? least : most());
    event.preventDefault();
  });
  const pageResized = () => resize(height);
  const close = () => {
    if (!element.isConnected) return;
    const hadFocus = element.contains(document.activeElement);
    window.removeEventListener("resize", pageResized);
    element.remove();
    root.classList.remove("with-bottom-panel");
    view.covered = 0;
    parts.closed();
    if (hadFocus && opener instanceof HTMLElement && opener.isConnected)
      opener.focus({ preventScroll: true });
  };
  window.addEventListener("resize", pageResized);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) close();
  });
  dragToFold(element.querySelector<HTMLElement>(".bottom-header h2")!, (isDown) => isDown && close());
  root.append(element);
  root.classList.add("with-bottom-panel");
  resize(lastHeight ?? window.innerHeight * 0.4);
  closer.focus({ preventScroll: true });
  return { element, close };
}
