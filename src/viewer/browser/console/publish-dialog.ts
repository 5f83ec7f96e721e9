import { button, h } from "../dom.js";
import type { StartView } from "../first-view.js";
import type { TreeItem } from "../layer-tree.js";
import { copyRow } from "../tools/copy-row.js";
import { showDialog } from "../tools/dialog.js";
import { embedCode } from "../tools/share-dialog.js";
import { basePart } from "./base-part.js";
import { descriptionPart } from "./description-part.js";
import { keepFocus } from "./focus.js";
import type { MapBase } from "./map-edits.js";
import { popupsPart } from "./popups-part.js";
import { problemText } from "./problem.js";
import type { ReadersSee } from "./publication.js";
import { startViewPart } from "./start-view-part.js";

/** Who may see a map, what of it is seen at first, what it is called, and how others get to it. */

export interface PublishedMap {
  /** To the map in the viewer. */
  readonly link: string;
  /** Whether the user may change it. */
  readonly mayChange: boolean;
  /** What the map shows now. */
  readonly seen: StartView;
  readonly readersSee: ReadersSee;
  /** Whether its style has a background colour, which covers the base map. */
  readonly hasBackground: boolean;
  /** Layers whose objects have popups. */
  readonly popups: readonly TreeItem[];
}
/** What others may change, too. */
export interface PublishedNow {
  readonly title: string;
  readonly isPublic: boolean;
  readonly startView: StartView | null;
  readonly description: string;
  readonly base: MapBase | null;
}
export interface PublishEvents {
  now(): PublishedNow;
  /** @throws ServerError */
  change(change: Partial<PublishedNow>): Promise<void>;
  /** Shows readers the layers as they are here. @throws ServerError */
  saveShown(): Promise<void>;
  /** Shows what a layer's popups are made of. */
  popup(layer: TreeItem): void;
}

type Parts = Parameters<typeof showDialog>[0] & Parameters<typeof copyRow>[0];

export function showPublishDialog(parts: Parts, map: PublishedMap, events: PublishEvents): HTMLDialogElement {
  const { t } = parts.locale;
  let { title, isPublic, startView, description, base } = events.now();
  const problem = h("p", { class: "problem", role: "alert" });
  const note = h("p", { class: "hint publish-note", role: "status", id: "publish-note" });
  const address = h("input", { class: "field", readonly: true, value: map.link, "aria-label": t("mapLink") });
  const snippet = h("textarea", { class: "field", readonly: true, rows: 4, "aria-label": t("embedCode") });
  const row = copyRow(parts, address, { label: t("copyLink"), copied: t("linkCopied") });
  const embedded = h(
    "details",
    { class: "publish-embed" },
    h("summary", {}, t("embed")),
    copyRow(parts, snippet, { label: t("copy"), copied: t("embedCopied") }),
  );
  const code = h("details", { class: "publish-embed" }, h("summary", {}, t("qrCode")));
  code.addEventListener("toggle", () => {
    if (!code.open || code.querySelector("svg")) return;
    const draw = async () => {
      const { qrCode } = await import("./qr-code.js");
      if (!code.querySelector("svg")) code.append(qrCode(map.link, t("mapLink")));
    };
    draw().catch((error: unknown) => {
      code.open = false; // opened again it is tried again
      problem.textContent = problemText(error, t);
    });
  });
  let isBusy = false;
  /** One thing after the other. */
  const work = async (change: () => Promise<void>) => {
    const focused = document.activeElement;
    problem.textContent = "";
    isBusy = true;
    show();
    try {
      await change();
    } catch (error) {
      problem.textContent = problemText(error, t);
    }
    isBusy = false;
    ({ title, isPublic, startView, description, base } = events.now());
    show();
    keepFocus(focused instanceof HTMLElement ? focused : undefined, row.querySelector("button"));
  };
  const change = (wanted: Parameters<PublishEvents["change"]>[0]) => work(() => events.change(wanted));
  const shown = h(
    "div",
    { class: "publish-shown", hidden: map.readersSee === "same" },
    h("p", { class: "hint" }, t(map.readersSee === "arranged" ? "publishArranged" : "publishBehind")),
  );
  const saveShown = button(
    { class: "button" },
    () =>
      void work(async () => {
        await events.saveShown();
        shown.hidden = true;
      }),
    t("publishShown"),
  );
  shown.append(saveShown);
  const choice = (value: boolean, label: string, hint: string) => {
    const id = `publish-${value ? "public" : "private"}`;
    const input = h("input", { type: "radio", name: "publish", id, disabled: !map.mayChange });
    input.addEventListener("change", () => void change({ isPublic: value }));
    return {
      input,
      element: h(
        "label",
        { class: "publish-choice", for: id },
        input,
        h("span", {}, label, h("small", {}, hint)),
      ),
    };
  };
  const open = choice(true, t("publishPublic"), t("publishPublicHint"));
  const closed = choice(false, t("publishPrivate"), t("publishPrivateHint"));
  const name = h("input", {
    class: "field",
    id: "publish-title",
    value: title,
    maxlength: 200,
    disabled: !map.mayChange,
  });
  const rename = h("button", { type: "submit", class: "button" }, t("save"));
  const titleForm = h("form", { class: "copy-row" }, name, rename);
  const start = startViewPart(t, {
    here: () => void change({ startView: map.seen }),
    all: () => void change({ startView: null }),
  });
  const about = descriptionPart(t, description, (text) => void change({ description: text }));
  const background = basePart(t, map.hasBackground, (chosen) => void change({ base: chosen }));
  const popups = popupsPart(t, map.popups, (layer) => events.popup(layer));
  const show = () => {
    open.input.checked = isPublic;
    closed.input.checked = !isPublic;
    embedded.hidden = !isPublic;
    snippet.value = embedCode({ link: map.link, title, width: "600", height: "400" });
    rename.hidden = name.value.trim() === title;
    for (const { input } of [open, closed]) input.disabled = isBusy || !map.mayChange;
    for (const control of [rename, saveShown]) control.disabled = isBusy;
    about.show(description, { mayChange: map.mayChange, isBusy });
    background.show(base, map.mayChange && !isBusy);
    start.show(startView, map.mayChange && !isBusy);
    note.textContent = t(isPublic ? "publishDone" : "publishClosed");
  };
  name.addEventListener("input", show);
  titleForm.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!isBusy) void change({ title: name.value.trim() });
  });
  show();
  const dialog = showDialog(
    parts,
    t("publish"),
    note,
    row,
    h("fieldset", { class: "publish-who" }, h("legend", {}, t("publishWho")), open.element, closed.element),
    ...(map.mayChange ? [] : [h("p", { class: "hint" }, t("publishNotYours"))]),
    shown,
    h("h3", {}, h("label", { for: "publish-title" }, t("mapTitle"))),
    titleForm,
    ...about.elements,
    ...start.elements,
    ...background.elements,
    ...popups,
    problem,
    code,
    embedded,
  );
  dialog.setAttribute("aria-describedby", note.id);
  row.querySelector("button")?.focus();
  return dialog;
}
