import type { Locale } from "../attributes.js";
import { button, h, icon } from "../dom.js";
import { type Paper, type PrintSheet, pageOf, type Size } from "../print.js";

/** The page's command to print: draws the map for the paper, and shows the browser's dialog. */

/** How much smaller symbols and labels may be on paper, so that it shows what the page does. */
const mostShrunk = 1.5;
const longestWaitMs = 20_000;
/** The world at zoom 0, in pixels. */
const worldSide = 256;

/** Asks for title and paper, and prints. */
export async function printMap(sheet: PrintSheet): Promise<void> {
  const { root, locale, view, sharpen, loadLegends } = sheet.parts;
  const shown = sheet.parts.shown();
  if (!shown) return;
  const chosen = await choosePaper(locale, shown.title);
  if (!chosen) return;
  const waiting = h("div", { class: "print-wait" }, h("p", { role: "status" }, locale.t("preparingPrint")));
  document.body.append(waiting);
  sheet.typed = chosen.title;
  const page = pageOf(chosen.paper);
  try {
    await inTime(loadLegends().then(() => imagesLoaded(root)));
    view.resize(mapOn(sheet.roomOn(chosen.paper), view.map));
    sharpen(true);
    const pane = view.map.getPane("tilePane")!;
    await inTime(tilesLoaded(pane));
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, page];
    root.dataset.paper = chosen.paper;
    await print();
  } finally {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== page);
    delete root.dataset.paper;
    sheet.typed = undefined;
    view.resize(undefined);
    sharpen(false);
    waiting.remove();
  }
}

/** Size and zoom of the map for the room that it has on paper: as little smaller there that it shows what the page does. The world fills the paper. */
function mapOn(room: Size, map: L.Map): Size & { readonly zoom: number } {
  const size = map.getSize();
  const zoom = Math.max(map.getZoom(), Math.ceil(Math.log2(room.height / worldSide)));
  const mostOfWorld = (worldSide * 2 ** zoom) / room.height;
  const wanted = Math.max(size.x / room.width, size.y / room.height);
  const shrunk = Math.max(1, Math.min(mostShrunk, mostOfWorld, wanted));
  return { width: Math.round(room.width * shrunk), height: Math.floor(room.height * shrunk), zoom };
}

/** Until all tiles are there, and nothing else is to come. */
async function tilesLoaded(pane: HTMLElement): Promise<void> {
  const end = Date.now() + longestWaitMs;
  // Pictures of before go when those that follow have faded in.
  for (let calm = 0; calm < 4 && Date.now() < end; ) {
    await pause(100);
    calm = pane.querySelector("img:not(.leaflet-tile-loaded)") ? 0 : calm + 1;
  }
}

/** Until the symbols of the legends are there. */
async function imagesLoaded(root: HTMLElement): Promise<void> {
  const images = [...root.querySelectorAll<HTMLImageElement>(".tree img")];
  // Those of folded legends too.
  for (const image of images) image.loading = "eager";
  await Promise.allSettled(images.map((image) => image.decode()));
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits, but not for long: what has not come then is not on the paper. */
const inTime = (work: Promise<unknown>): Promise<unknown> => Promise.race([work, pause(longestWaitMs)]);

/** Prints; ends when the browser's dialog is closed, or, where that is not told, when the page is used again. */
function print(): Promise<void> {
  const events = ["afterprint", "pointerdown", "keydown"];
  return new Promise((resolve) => {
    const done = () => {
      for (const event of events) window.removeEventListener(event, done);
      resolve();
    };
    for (const event of events) window.addEventListener(event, done);
    window.print();
  });
}

/** Asks for the title and the paper; undefined when it was cancelled. */
function choosePaper({ t }: Locale, title: string): Promise<{ title: string; paper: Paper } | undefined> {
  const field = h("input", {
    class: "field",
    id: "print-title",
    value: title,
    maxlength: 200,
    autocomplete: "off",
  });
  const isWide = window.innerWidth > window.innerHeight;
  const papers = (["portrait", "landscape"] as const).map((paper) => {
    const input = h("input", {
      ...{ type: "radio", name: "paper", value: paper },
      checked: (paper === "landscape") === isWide,
    });
    return { paper, input, element: h("label", { class: "paper" }, input, t(paper)) };
  });
  let result: { title: string; paper: Paper } | undefined;
  const form = h(
    "form",
    { class: "sign-in" },
    h(
      "div",
      { class: "dialog-header" },
      h("h2", { id: "print-heading" }, t("print")),
      button({ class: "icon-button", "aria-label": t("close") }, () => dialog.close(), icon("close")),
    ),
    h("label", { for: "print-title" }, t("printTitle")),
    field,
    h("fieldset", { class: "papers" }, h("legend", {}, t("paper")), ...papers.map(({ element }) => element)),
    h("button", { type: "submit", class: "button main wide" }, icon("print"), t("print")),
  );
  const dialog = h("dialog", { class: "card dialog", "aria-labelledby": "print-heading" }, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const paper = papers.find(({ input }) => input.checked)?.paper ?? "portrait";
    result = { title: field.value.trim(), paper };
    dialog.close();
  });
  dialog.addEventListener("pointerdown", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  field.select();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
  });
}
