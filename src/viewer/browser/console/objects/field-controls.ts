import { columnTitle } from "../../attributes.js";
import { h } from "../../dom.js";
import type { ColumnInfo } from "../../map-server.js";
import type { Translate } from "../../texts.js";
import { limitsOf } from "./limits.js";
import { isSame } from "./merge.js";
import { momentOf, momentValue } from "./moments.js";
import type { Constraint } from "./object-store.js";
import { isMissing, type Reading, readingOf } from "./readings.js";

/** A field of a form for a column: a control of the kind of its values, and below it what is wrong with them. */

export interface FieldControl {
  readonly element: HTMLElement;
  /** Shows a value that was not written here; what is written the same is left alone. @param written what is no value, as it was told */
  show(value: unknown, written?: unknown): void;
  /** What is wrong; "" = nothing. */
  tell(problem: string): void;
  focus(): void;
}

export interface FieldContext {
  readonly t: Translate;
  /** Of the project's data, the main one first. */
  readonly languages: readonly string[];
  readonly constraints: readonly Constraint[];
}

/** Told a value, or undefined and what is written, when that is none. */
export type Changed = (value: unknown, written?: unknown) => void;

/** A control without its label. */
interface Control {
  readonly element: HTMLElement;
  readonly inputs: readonly (HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement)[];
  /** Undefined = what is written is none. */
  value(): unknown;
  /** What is written, to be shown again. */
  written(): unknown;
  show(value: unknown): void;
  showWritten(written: unknown): void;
}

export function fieldControl(column: ColumnInfo, context: FieldContext, changed: Changed): FieldControl {
  const { t, languages } = context;
  const id = `object-field-${column.code}`;
  const problem = h("p", { class: "field-problem", id: `${id}-problem`, hidden: true });
  const limits = limitsOf(column, context);
  const hint = h("p", { class: "hint", id: `${id}-hint`, hidden: limits === undefined }, limits?.text ?? "");
  const told = () => {
    const value = control.value();
    tell(value === undefined ? t("wrongValue") : limits?.isBroken(value) ? limits.text : "");
    changed(value, value === undefined ? control.written() : undefined);
  };
  const isLocalized = column.localized_value && languages.length > 0;
  const control = isLocalized
    ? localizedControl(column, id, context, told)
    : plainControl(column, id, context, told);
  const isRequired = column.required === true;
  const tell = (text: string) => {
    problem.textContent = text;
    problem.hidden = text === "";
    hint.hidden = limits === undefined || text === limits.text;
    const about = [text !== "" && problem.id, !hint.hidden && hint.id].filter(Boolean).join(" ");
    for (const input of control.inputs) {
      input.setAttribute("aria-invalid", String(text !== ""));
      if (about === "") input.removeAttribute("aria-describedby");
      else input.setAttribute("aria-describedby", about);
    }
  };
  tell("");
  for (const input of control.inputs) if (isRequired) input.setAttribute("aria-required", "true");
  const label = h(
    "label",
    { for: control.inputs[0]?.id ?? id },
    columnTitle(column),
    isRequired && h("span", { class: "required", "aria-hidden": "true" }, " *"),
  );
  return {
    element: h(
      "div",
      { class: "object-field", "data-code": column.code },
      ...[label, control.element, hint, problem],
    ),
    show: (value, written) => {
      if (written !== undefined) {
        if (!isSame(control.written(), written)) control.showWritten(written);
        tell(t("wrongValue"));
        return;
      }
      const now = control.value();
      if (now === undefined || !isSame(now, value)) {
        control.show(value);
        tell("");
      }
    },
    tell,
    focus: () => control.inputs[0]?.focus(),
  };
}

function plainControl(column: ColumnInfo, id: string, context: FieldContext, changed: () => void): Control {
  const choices = choicesOf(column, context);
  if (choices) return choiceControl(id, choices, changed);
  switch (column.type) {
    case "bool": {
      const { t } = context;
      return choiceControl(
        id,
        [
          { value: true, text: t("yes") },
          { value: false, text: t("no") },
        ],
        changed,
      );
    }
    case "datetime":
      return momentControl(id, context, changed);
    case "number":
      return textControl(h("input", { ...plain(id), inputmode: "decimal" }), readingOf("number"), changed);
    case "json": {
      const input = h("textarea", { ...plain(id), rows: 3, spellcheck: "false" });
      return textControl(input, readingOf("json"), changed);
    }
    case "text":
      return textControl(h("textarea", { ...plain(id), rows: 3 }), readingOf("text"), changed);
    default:
      return textControl(h("input", plain(id)), readingOf("string"), changed);
  }
}

const plain = (id: string) => ({ class: "field", id, autocomplete: "off" });

function textControl(
  input: HTMLInputElement | HTMLTextAreaElement,
  reading: Reading,
  changed: () => void,
): Control {
  input.addEventListener("input", changed);
  return {
    element: input,
    inputs: [input],
    value: () => reading.read(input.value),
    written: () => input.value,
    show: (value) => {
      input.value = reading.written(value);
    },
    showWritten: (written) => {
      input.value = String(written ?? "");
    },
  };
}

interface Choice {
  readonly value: unknown;
  readonly text: string;
}

/** More are offered while they are written, not in a list. */
const mostChoices = 300;

/** The values that a column may have, if it may only have some. */
function choicesOf({ code }: ColumnInfo, { constraints }: FieldContext): readonly Choice[] | undefined {
  const [constraint] = constraints.filter(({ type, columns }) => type === "enum" && columns.includes(code));
  if (!constraint || constraint.definition.length > mostChoices) return undefined;
  return constraint.definition.map((value) => ({ value, text: String(value) }));
}

function choiceControl(id: string, choices: readonly Choice[], changed: () => void): Control {
  const select = h("select", { class: "field", id });
  let offered: readonly Choice[] = choices;
  const fill = () =>
    select.replaceChildren(
      h("option", { value: "" }, "—"),
      ...offered.map(({ text }, at) => h("option", { value: at }, text)),
    );
  fill();
  select.addEventListener("change", changed);
  const value = () => (select.value === "" ? null : offered[Number(select.value)]?.value);
  return {
    element: select,
    inputs: [select],
    value,
    written: value,
    showWritten: () => undefined,
    show: (value) => {
      const isKnown = isMissing(value) || choices.some((choice) => choice.value === value);
      // What it has now can be kept.
      offered = isKnown ? choices : [...choices, { value, text: String(value) }];
      fill();
      const at = offered.findIndex((choice) => choice.value === value);
      select.value = at < 0 ? "" : String(at);
    },
  };
}

function momentControl(id: string, { t }: FieldContext, changed: () => void): Control {
  const date = h("input", { class: "field", type: "date", id, max: "9998-12-31" });
  const time = h("input", {
    class: "field",
    type: "time",
    id: `${id}-time`,
    step: 1,
    "aria-label": t("timeOfDay"),
  });
  const text = h("input", { ...plain(`${id}-text`), hidden: true });
  const read = () => {
    if (!text.hidden) return readingOf("text").read(text.value);
    // A date that is half written is none.
    const isHalf = date.validity.badInput || time.validity.badInput;
    return isHalf ? undefined : momentValue({ date: date.value, time: time.value });
  };
  for (const input of [date, time, text]) input.addEventListener("input", changed);
  const choose = (isText: boolean) => {
    date.hidden = time.hidden = isText;
    text.hidden = !isText;
  };
  return {
    element: h("span", { class: "object-moment" }, date, time, text),
    inputs: [date, time, text],
    value: read,
    written: () => ({ date: date.value, time: time.value }),
    show: (value) => {
      const moment = isMissing(value) ? { date: "", time: "" } : momentOf(String(value));
      choose(!moment);
      text.value = moment ? "" : String(value);
      date.value = moment?.date ?? "";
      time.value = moment?.time ?? "";
    },
    showWritten: (written) => {
      choose(false);
      const moment = written as { readonly date?: string; readonly time?: string } | null;
      date.value = moment?.date ?? "";
      time.value = moment?.time ?? "";
    },
  };
}

/** A control for each language: the main one, and the others when they are asked for. */
function localizedControl(
  column: ColumnInfo,
  id: string,
  context: FieldContext,
  changed: () => void,
): Control {
  const { t, languages } = context;
  const controls = languages.map((language) => {
    const plainOne = plainControl(column, `${id}-${language}`, context, changed);
    for (const input of plainOne.inputs) {
      input.lang = language;
      input.setAttribute("aria-label", `${columnTitle(column)} (${language})`);
    }
    return { language, ...plainOne };
  });
  /** Values of languages that the project does not have any more. */
  let others: Readonly<Record<string, unknown>> = {};
  const row = ({ language, element }: (typeof controls)[number]) =>
    h(
      "span",
      { class: "object-language" },
      h("span", { class: "pill", "aria-hidden": "true" }, language),
      element,
    );
  const [main, ...further] = controls.map(row);
  const more =
    further.length > 0 &&
    h("details", { class: "object-languages" }, h("summary", {}, t("otherLanguages")), ...further);
  return {
    element: h("div", {}, main, more),
    inputs: controls.flatMap(({ inputs }) => inputs),
    value: () => {
      const values = controls.map(({ language, value }) => [language, value()] as const);
      if (values.some(([, value]) => value === undefined)) return undefined;
      return { ...others, ...Object.fromEntries(values.filter(([, value]) => value !== null)) };
    },
    written: () => Object.fromEntries(controls.map(({ language, written }) => [language, written()])),
    show: (value) => {
      const values = recordOf(value);
      others = Object.fromEntries(
        Object.entries(values).filter(([language]) => !languages.includes(language)),
      );
      for (const { language, show } of controls) show(values[language]);
    },
    showWritten: (written) => {
      const texts = recordOf(written);
      for (const { language, showWritten } of controls) showWritten(texts[language]);
    },
  };
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
