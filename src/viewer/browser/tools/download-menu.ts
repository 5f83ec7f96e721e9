import { button, h, icon } from "../dom.js";
import type { ToolParts } from "../tool-parts.js";
import { downloadObjects } from "./download.js";
import { fileFormats } from "./file-formats.js";
import type { LayerObjects, Selected } from "./layer-objects.js";

/** A button with a menu of formats, in which objects of a layer are saved as a file. */

export interface DownloadOf {
  /** undefined = they are not known yet. */
  readonly objects: () => LayerObjects | undefined;
  readonly selected: () => Selected;
  readonly signal: AbortSignal;
}

export function downloadMenu(parts: ToolParts, of: DownloadOf): HTMLElement {
  const { t } = parts.locale;
  const menu = h("div", {
    class: "card menu download-menu",
    popover: "auto",
    role: "group",
    "aria-label": t("download"),
  });
  const opener = button(
    { class: "button small", "aria-haspopup": "true", "aria-expanded": "false", title: t("download") },
    () => void open(),
    icon("download"),
    h("span", { class: "button-text" }, t("download")),
  );
  const entry = (code: string, name: string): HTMLElement =>
    button(
      { class: "menu-entry" },
      () => {
        menu.hidePopover();
        opener.focus();
        void download(parts, of, code);
      },
      name,
    );
  const open = async () => {
    const formats = await fileFormats();
    menu.replaceChildren(...formats.map(({ code, name }) => entry(code, name)));
    menu.showPopover();
    const at = opener.getBoundingClientRect();
    menu.style.left = `${Math.max(8, at.right - menu.offsetWidth)}px`;
    menu.style.top = `${Math.max(8, at.top - 6 - menu.offsetHeight)}px`;
    menu.querySelector("button")?.focus();
  };
  menu.addEventListener("toggle", (event) =>
    opener.setAttribute("aria-expanded", String((event as ToggleEvent).newState === "open")),
  );
  return h("div", { class: "download" }, opener, menu);
}

async function download(
  { server, toasts, locale: { t } }: ToolParts,
  { objects: known, selected, signal }: DownloadOf,
  format: string,
): Promise<void> {
  const objects = known();
  if (!objects) return;
  toasts.show(t("downloading"));
  try {
    await downloadObjects(server, objects, { selected: selected(), format, signal });
  } catch {
    if (!signal.aborted) toasts.show(t("downloadFailed"), "bad");
  }
}
