import { button, h } from "../dom.js";
import { sizeText } from "../size-text.js";
import type { Translate } from "../texts.js";
import { showDialog } from "../tools/dialog.js";
import type { Dialogs } from "./dialogs.js";
import type { Edits } from "./edits.js";
import { type PastedData, pastedText } from "./pasted-text.js";
import { problemText } from "./problem.js";

/** As a file: what is imported has a name. */
export const pastedFile = (t: Translate, { text, extension }: PastedData): File =>
  new File([text], `${t("pastedName")}.${extension}`);

/** Takes a link to a file, or a table or geodata as text, and makes files of them. */

export interface AddParts {
  readonly dialogs: Dialogs;
  readonly edits: Edits;
  readonly project: string;
  /** Code of the map that it goes to; undefined = a new one. */
  readonly map: string | undefined;
  /** @param files to be imported */
  readonly add: (files: readonly File[]) => void;
}

/** @param link that is got at once; undefined = it is asked for */
export function showAddDialog({ dialogs, edits, project, map, add }: AddParts, link?: string): void {
  const { locale } = dialogs;
  const { t, language } = locale;
  const field = h("textarea", {
    ...{ class: "field add-text", id: "add-text", rows: 6, autocapitalize: "none", spellcheck: "false" },
    "aria-describedby": "add-text-hint",
  });
  const problem = h("p", { class: "problem", role: "alert" });
  const state = h("p", { class: "hint", role: "status" });
  const submit = h("button", { type: "submit", class: "button main" }, t("addIt"));
  const cancel = button({ class: "button" }, () => dialog.close(), t("cancel"));
  let running: AbortController | undefined;

  const get = async (url: string) => {
    running = new AbortController();
    const { signal } = running;
    submit.disabled = true;
    field.readOnly = true;
    const host = URL.canParse(url) ? new URL(url).host : url;
    const progress = (bytes: number) => {
      state.textContent = t("linkFetching", { host, size: sizeText(bytes, language) });
    };
    progress(0);
    try {
      const file = await edits.file(project, ["link"], { url, map }, { signal, progress });
      dialog.close();
      add([file]);
    } catch (error) {
      if (signal.aborted) return;
      problem.textContent = problemText(error, t);
      state.textContent = "";
      submit.disabled = false;
      field.readOnly = false;
      field.focus();
    }
  };
  const take = () => {
    problem.textContent = "";
    const found = pastedText(field.value);
    if (found?.kind === "link") return void get(found.url);
    if (!found) {
      problem.textContent = t("pastedNothing");
      return field.focus();
    }
    dialog.close();
    add([pastedFile(t, found)]);
  };
  const form = h(
    "form",
    { class: "name-form", novalidate: true },
    h("label", { for: "add-text" }, t("linkOrTable")),
    field,
    h("p", { class: "hint", id: "add-text-hint" }, t("linkOrTableHint")),
    problem,
    state,
    h("div", { class: "dialog-actions" }, cancel, submit),
  );
  field.addEventListener("keydown", (event) => {
    // Behind a link no other line comes, as in a table.
    if (event.key !== "Enter" || event.shiftKey || pastedText(field.value)?.kind !== "link") return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!submit.disabled) take();
  });
  const dialog = showDialog(dialogs, t("addLinkOrTable"), form);
  dialog.addEventListener("close", () => running?.abort());
  field.focus();
  if (link === undefined) return;
  field.value = link;
  take();
}
