import { button, h } from "../../dom.js";
import { showDialog } from "../../tools/dialog.js";
import type { Dialogs } from "../dialogs.js";
import type { Edits } from "../edits.js";
import { problemText } from "../problem.js";
import { encodingChoice, systemChoice } from "./choices.js";
import { type Look, look } from "./look.js";
import type { ReadFile, Reading } from "./read-file.js";
import { rowsTable } from "./rows-table.js";

/** The dialog that tells how a file was read, and in which it is read in another way. */

const isSame = (one: Reading, other: Reading): boolean =>
  one.encoding === other.encoding && one.srs === other.srs;

export function showReading(dialogs: Dialogs, edits: Edits, file: ReadFile): void {
  const { t } = dialogs.locale;
  const encoding = encodingChoice(t, file.reading.encoding);
  const system = systemChoice(t, file.reading.srs);
  const note = h("p", { class: "hint", role: "status" });
  const problem = h("p", { class: "problem", role: "alert" });
  const rows = h("div", {
    ...{ class: "reading-rows", role: "region", tabindex: 0, hidden: true },
    "aria-label": t("readingRows"),
  });
  const again = button({ class: "button main" }, () => dialog.close("again"), t("readingAgain"));
  const close = button({ class: "button" }, () => dialog.close(), t("close"));
  // Not all formats have a choice.
  encoding.row.hidden = true;
  let columns: readonly string[] | undefined;
  let looking = new AbortController();
  const wanted = (): Reading => ({ encoding: encoding.value, srs: system.value });

  const show = ({ preview, features, bad, reason, isPart }: Look) => {
    encoding.row.hidden = preview?.layers.every((layer) => layer.encoding === undefined) ?? true;
    system.row.hidden = preview === undefined;
    if (!preview) {
      note.textContent = t("readingNone");
      return;
    }
    const [layer] = preview.layers;
    if (encoding.value === undefined) encoding.found(layer?.encoding);
    if (system.value === undefined) system.found(layer?.srs);
    columns = preview.columns.map(({ code }) => code);
    note.textContent = isPart ? t("readingPart") : t("importObjects", { n: features - bad });
    if (bad > 0) problem.textContent = [t("readingBad", { n: bad }), reason].filter(Boolean).join(" · ");
    rows.replaceChildren(rowsTable(t, preview));
    rows.hidden = false;
  };
  const read = async () => {
    looking.abort();
    looking = new AbortController();
    const { signal } = looking;
    columns = undefined;
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
      rows.hidden = true;
      problem.textContent = problemText(error, t);
    }
  };
  for (const { control } of [encoding, system]) control.addEventListener("change", () => void read());

  const dialog = showDialog(
    dialogs,
    t("readingOf", { name: file.name }),
    h("div", { class: "reading-choices" }, encoding.row, system.row),
    note,
    problem,
    rows,
    h("div", { class: "dialog-actions" }, close, again),
  );
  dialog.classList.add("reading-dialog");
  dialog.addEventListener("close", () => {
    looking.abort();
    if (dialog.returnValue === "again") file.again(wanted(), columns);
  });
  void read();
}
