import { button, h } from "../../dom.js";
import type { TileSource } from "../../tile-source.js";
import { showDialog } from "../../tools/dialog.js";
import type { Dialogs } from "../dialogs.js";
import type { Edits } from "../edits.js";
import { isSame } from "../import-fields.js";
import { problemText } from "../problem.js";
import { encodingChoice, systemChoice } from "./choices.js";
import { CoordinateChoice } from "./coordinate-choice.js";
import { type Look, look } from "./look.js";
import { PlacesMap } from "./places-map.js";
import type { ReadFile, Reading } from "./read-file.js";
import { isForeign, RowsTable } from "./rows-table.js";

/** The dialog that tells how a file was read, and in which it is read in another way. */

/** @param base tiles below the places */
export function showReading(dialogs: Dialogs, edits: Edits, file: ReadFile, base: TileSource): void {
  const { t } = dialogs.locale;
  const encoding = encodingChoice(t, file.reading.encoding);
  const system = systemChoice(t, file.reading.srs);
  const coordinates = new CoordinateChoice(t, file.reading.coordinates, () => void read());
  const places = new PlacesMap(t, base);
  const table = new RowsTable(t, file.reading.columns ?? {}, () => void read());
  const more = h("p", { class: "hint", hidden: true });
  const note = h("p", { class: "hint", role: "status" });
  const problem = h("p", { class: "problem", role: "alert" });
  const rows = h(
    "div",
    {
      ...{ class: "reading-rows", role: "region", tabindex: 0, hidden: true },
      "aria-label": t("readingRows"),
    },
    table.element,
  );
  const again = button({ class: "button main" }, () => dialog.close("again"), t("readingAgain"));
  const close = button({ class: "button" }, () => dialog.close(), t("close"));
  // Not all formats have a choice.
  encoding.row.hidden = true;
  let looking = new AbortController();
  const wanted = (): Reading => ({
    ...{ encoding: encoding.value, srs: system.value },
    ...{ coordinates: coordinates.wanted, columns: table.wanted },
  });

  const show = ({ preview, features, bad, more: unseen, reason, isPart }: Look) => {
    encoding.row.hidden = preview?.layers.every((layer) => layer.encoding === undefined) ?? true;
    system.row.hidden = preview === undefined;
    if (!preview) {
      note.textContent = t("readingNone");
      return;
    }
    const [layer] = preview.layers;
    if (encoding.value === undefined) encoding.found(layer?.encoding);
    if (system.value === undefined) system.found(layer?.srs);
    coordinates.show(preview);
    note.textContent = isPart ? t("readingPart") : t("importObjects", { n: features - bad });
    if (bad > 0) problem.textContent = [t("readingBad", { n: bad }), reason].filter(Boolean).join(" · ");
    rows.hidden = false;
    table.show(preview);
    more.hidden = unseen === 0;
    more.textContent = t("readingMoreColumns", { n: unseen });
    places.show(preview, preview.coordinates?.length !== 0 && bad > 0);
  };
  const read = async () => {
    looking.abort();
    looking = new AbortController();
    const { signal } = looking;
    problem.textContent = "";
    note.textContent = t("importReading");
    again.disabled = true;
    try {
      const found = await look(edits, file, wanted(), signal);
      if (found) show(found);
      else {
        encoding.row.hidden = false;
        note.textContent = t("readingLarge");
      }
      again.disabled = isSame(wanted(), file.reading);
    } catch (error) {
      if (signal.aborted) return;
      note.textContent = "";
      // The heads stay: a name or a type may be what was refused.
      table.clear();
      places.hide();
      problem.textContent = problemText(error, t);
    }
  };
  encoding.control.addEventListener("change", () => {
    table.forgetForeign();
    if (coordinates.wanted?.some(isForeign)) coordinates.wanted = undefined;
    void read();
  });
  system.control.addEventListener("change", () => void read());

  const dialog = showDialog(
    dialogs,
    t("readingOf", { name: file.name }),
    h("div", { class: "reading-choices" }, encoding.row, system.row, coordinates.element),
    places.element,
    note,
    problem,
    rows,
    more,
    h("div", { class: "dialog-actions" }, close, again),
  );
  dialog.classList.add("reading-dialog");
  dialog.addEventListener("close", () => {
    looking.abort();
    places.remove();
    if (dialog.returnValue === "again") file.again(wanted());
  });
  void read();
}
