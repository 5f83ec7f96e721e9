import { columnTitle, type Locale } from "../attributes.js";
import { button, h } from "../dom.js";
import type { ColumnInfo } from "../map-server.js";
import { type Bar, type BarValue, barsOf, hasChart } from "./chart-data.js";
import type { LayerObjects, Selected } from "./layer-objects.js";

/** A chart of a column's values, beside the table: how often each is, or how many lie in each interval. */

export interface ChartOf {
  readonly locale: Locale;
  readonly columns: readonly ColumnInfo[];
  readonly objects: LayerObjects;
  /** What is listed, but for the condition of a column. */
  selectedWithout(code: string): Selected;
  /** What is typed for a column. */
  typedFor(code: string): string;
  /** Lists the objects of a bar. */
  ask(code: string, condition: string): void;
}

export interface Chart {
  readonly element: HTMLElement;
  /** Counts again. */
  refresh(): void;
  close(): void;
}

/** Of more objects the first of these are counted, which is told. */
const maxObjects = 20_000;

export function makeChart(of: ChartOf): Chart {
  const { t, language } = of.locale;
  const number = (value: number) => new Intl.NumberFormat(language).format(value);
  const columns = of.columns.filter((column) => hasChart(column) && column.code !== "svc_id");
  const select = h(
    "select",
    { class: "field chart-column", "aria-label": t("chartColumn") },
    ...columns.map((column) => h("option", { value: column.code }, columnTitle(column))),
  );
  // A column of categories says more at first than names do.
  select.value = (columns.find(({ type }) => type === "number" || type === "bool") ?? columns[0])?.code ?? "";
  const note = h("p", { class: "hint", role: "status" });
  const bars = h("ul", { class: "chart-bars" });
  const element = h("section", { class: "chart", "aria-label": t("chart") }, select, note, bars);
  let running: AbortController | undefined;
  const refresh = async () => {
    running?.abort();
    const column = columns.find(({ code }) => code === select.value);
    if (!column) {
      note.textContent = t("noChart");
      return;
    }
    const own = new AbortController();
    running = own;
    element.setAttribute("aria-busy", "true");
    try {
      const selected = of.selectedWithout(column.code);
      const { values, total } = await of.objects.column(selected, column.code, maxObjects, own.signal);
      if (own.signal.aborted) return;
      draw(column, barsOf(column.type, values));
      note.textContent =
        total > values.length
          ? t("chartOfFirst", { n: number(values.length), all: number(total) })
          : values.length === 0
            ? t("noObjectsFound")
            : "";
    } catch {
      if (!own.signal.aborted) note.textContent = t("queryFailed");
    } finally {
      if (running === own) element.setAttribute("aria-busy", "false");
    }
  };
  const draw = (column: ColumnInfo, found: readonly Bar[]) => {
    const most = found.reduce((sum, { count }) => Math.max(sum, count), 1);
    const typed = of.typedFor(column.code);
    bars.replaceChildren(
      ...found.map(({ value, count, condition }) => {
        const label = value ? labelOf(value, of.locale) : t("otherValues");
        const isOn = condition !== undefined && condition === typed;
        const bar = button(
          { class: "chart-bar", "aria-pressed": condition !== undefined && String(isOn), title: label },
          () => {
            if (condition === undefined) return;
            of.ask(column.code, isOn ? "" : condition);
          },
          h("span", { class: "chart-label" }, label),
          h("span", { class: "chart-track", "aria-hidden": "true" }, h("span", {})),
          h("span", { class: "chart-count" }, number(count)),
        );
        bar.disabled = condition === undefined;
        bar.querySelector<HTMLElement>(".chart-track span")!.style.width = `${(count / most) * 100}%`;
        return h("li", {}, bar);
      }),
    );
  };
  select.addEventListener("change", () => void refresh());
  return { element, refresh: () => void refresh(), close: () => running?.abort() };
}

function labelOf(value: BarValue, { t, language }: Locale): string {
  const number = (one: number) =>
    new Intl.NumberFormat(language, { maximumFractionDigits: 6, useGrouping: "min2" }).format(one);
  switch (value.kind) {
    case "empty":
      return t("isEmpty");
    case "text":
      return value.text;
    case "bool":
      return t(value.isTrue ? "yes" : "no");
    case "number":
      return number(value.number);
    case "numbers":
      return `${number(value.from)} – ${number(value.to)}`;
    case "time":
      return value.to === undefined ? timeLabel(value.from, language) : `${value.from} – ${value.to}`;
  }
}

function timeLabel(text: string, language: string): string {
  if (text.length === 4) return text;
  const options: Intl.DateTimeFormatOptions =
    text.length === 7 ? { year: "numeric", month: "short" } : { dateStyle: "medium" };
  return new Intl.DateTimeFormat(language, { ...options, timeZone: "UTC" }).format(new Date(text));
}
