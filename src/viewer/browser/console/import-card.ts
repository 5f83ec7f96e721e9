import { button, h, icon } from "../dom.js";
import { saveBytes } from "../save-file.js";
import type { Translate } from "../texts.js";
import type { BadRow, ImportJob, ImportResult } from "./edits.js";
import type { Problem } from "./problem.js";
import { type FileTable, TableChoice, type TableChoiceEvents } from "./table-choice.js";

/** What becomes of a file: a line for each, with its progress and its report. */

const phases = {
  waiting: "importWaiting",
  reading: "importReading",
  checking: "importChecking",
  writing: "importWriting",
} as const;

/** What went well is told for so long. */
const doneMs = 8_000;
/** Where something can be done about it: as long as it takes to look at the map. */
const offeredMs = 120_000;

export class ImportCard {
  private readonly state = h("span", { class: "import-state" });
  private readonly bar = h("progress", { class: "import-bar", max: 100 });
  private readonly detail = h("p", { class: "import-detail", hidden: true });
  private readonly tables = h("div", { class: "import-choice", hidden: true });
  private readonly actions = h("div", { class: "import-actions" });
  readonly element: HTMLElement;
  /** How often it was to be closed by itself. */
  private ends = 0;

  constructor(
    private readonly t: Translate,
    private readonly name: string,
    private readonly events: {
      readonly close: () => void;
      /** What is read out of it. */
      readonly say: (text: string) => void;
    },
  ) {
    this.bar.setAttribute("aria-label", t("importProgress", { name }));
    this.element = h(
      "li",
      { class: "import", "data-state": "running" },
      h("strong", { class: "import-name", title: name }, name),
      this.state,
      this.bar,
      this.detail,
      this.tables,
      this.actions,
    );
  }

  /** From here on it can be cancelled. */
  waiting(cancel: () => void): void {
    this.element.dataset.state = "running";
    this.bar.hidden = false;
    this.detail.hidden = true;
    this.tables.hidden = true;
    this.offer(button({ class: "text-button" }, cancel, this.t("cancel")));
    this.working({ phase: "waiting", features: 0 });
  }

  /** @param part from 0 to 1 */
  uploading(part: number): void {
    const percent = Math.round(part * 100);
    this.bar.value = percent;
    this.state.textContent = this.t("importUploading", { n: percent });
  }

  working({ phase, features }: Pick<ImportJob, "phase" | "features">): void {
    this.bar.removeAttribute("value");
    this.state.textContent = this.t(phases[phase]);
    if (features > 0) this.state.append(` · ${this.t("importObjects", { n: features })}`);
  }

  /** Whether a text that looks like none is a table. @param column the only one that was found */
  asks(column: string, { go, leave }: { readonly go: () => void; readonly leave: () => void }): void {
    this.element.dataset.state = "asking";
    this.bar.hidden = true;
    const text = this.t("importNoTable");
    this.state.replaceChildren(icon("help"), text);
    this.events.say(text);
    this.tell(this.t("importOneColumn", { name: column }));
    this.offer(
      button({ class: "text-button" }, go, this.t("importAnyway")),
      button({ class: "text-button" }, leave, this.t("cancel")),
    );
  }

  /** Which tables of the file become layers. */
  asksTables(tables: readonly FileTable[], events: TableChoiceEvents): void {
    this.element.dataset.state = "asking";
    this.bar.hidden = true;
    const text = this.t("importTables", { n: tables.length });
    this.state.replaceChildren(icon("help"), text);
    this.events.say(text);
    const choice = new TableChoice(this.t, this.name, tables, events);
    this.tables.replaceChildren(choice.list);
    this.tables.hidden = false;
    this.offer(...choice.actions);
  }

  /** @param read tells how it was read; undefined = there is nothing to be told */
  done({ features, bad, rows }: Pick<ImportResult, "features" | "bad" | "rows">, read?: () => void): void {
    this.end("done");
    this.offer(...this.readingOf(read), this.dismissal);
    const text = this.t("importDone", { n: features - bad });
    this.state.replaceChildren(icon("check"), text);
    this.events.say(text);
    if (bad === 0) {
      this.closeAfter(read ? offeredMs : doneMs);
      return;
    }
    this.element.dataset.state = "partly";
    this.tell(this.t("importBad", { n: bad }));
    this.offer(...this.readingOf(read), this.report(rows), this.dismissal);
  }

  failed(
    { text, detail }: Omit<Problem, "mayPass">,
    rows: readonly BadRow[],
    { again, read }: { readonly again: () => void; readonly read?: (() => void) | undefined },
  ): void {
    this.end("failed");
    this.state.replaceChildren(icon("alert"), text);
    this.events.say(text);
    if (detail) this.tell(detail);
    this.offer(
      ...this.readingOf(read),
      ...(rows.length > 0 ? [this.report(rows)] : []),
      button({ class: "text-button" }, again, this.t("retry")),
      this.dismissal,
    );
  }

  /** What has ended well goes, unless somebody is at it. */
  private closeAfter(ms: number): void {
    const ended = ++this.ends;
    window.setTimeout(() => {
      if (this.element.dataset.state !== "done" || ended !== this.ends) return;
      if (this.element.matches(":hover, :focus-within") || document.querySelector("dialog[open]"))
        this.closeAfter(ms);
      else this.events.close();
    }, ms);
  }

  private readingOf(read: (() => void) | undefined): readonly HTMLElement[] {
    if (!read) return [];
    const { t, name } = this;
    const label = t("howRead");
    return [button({ class: "text-button", "aria-label": `${label}: ${name}` }, read, label)];
  }

  private end(state: "done" | "failed"): void {
    this.element.dataset.state = state;
    this.bar.hidden = true;
    this.detail.hidden = true;
    this.tables.hidden = true;
  }

  private report(rows: readonly BadRow[]): HTMLElement {
    return button({ class: "text-button" }, () => saveReport(this.name, rows), this.t("importReport"));
  }

  private get dismissal(): HTMLElement {
    const label = this.t("dismiss", { name: this.name });
    const attributes = { class: "icon-button small", "aria-label": label, title: label };
    return button(attributes, this.events.close, icon("close"));
  }

  /** Shows what can be done now. Whoever is here by keys stays here. */
  private offer(...actions: readonly HTMLElement[]): void {
    const hadFocus = this.actions.contains(document.activeElement);
    this.actions.replaceChildren(...actions);
    if (hadFocus) actions[0]?.focus();
  }

  private tell(text: string): void {
    this.detail.textContent = text;
    this.detail.hidden = false;
  }
}

/** Lets the browser save the rows that were left out, as a table. */
function saveReport(name: string, rows: readonly BadRow[]): void {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  const text = lines.map((line) => line.map(cell).join(",")).join("\r\n");
  saveBytes(new Blob(["\uFEFF", text, "\r\n"], { type: "text/csv" }), `${name}-report.csv`);
}

/** Spreadsheets take what begins so for a formula. */
function cell(value: unknown): string {
  const text =
    value === undefined || value === null
      ? ""
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
