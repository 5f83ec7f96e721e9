import { columnTitle } from "../../attributes.js";
import { h } from "../../dom.js";
import type { ColumnInfo } from "../../map-server.js";
import type { Translate } from "../../texts.js";
import { momentOf, momentValue } from "./moments.js";
import type { Constraint } from "./object-store.js";

/** A field of a form for a column: a control of the kind of its values, and below it what is wrong with them. */

export interface FieldControl {
  readonly element: HTMLElement;
  /** Shows a value that was not written here. */
  show(value: unknown): void;
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

/** Told a value, or undefined when what is written is none. */
export type Changed = (value: unknown) => void;

/** A control without its label. */
interface Control {
  readonly element: HTMLElement;
  readonly inputs: readonly (HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement)[];
  show(value: unknown): void;
}

export function fieldControl(column: ColumnInfo, context: FieldContext, changed: Changed): FieldControl {
  const { t, languages } = context;
  const id = `object-field-${column.code}`;
  const problem = h("p", { class: "field-problem", id: `${id}-problem`, hidden: true });
  const told = (value: unknown) => {
    tell(value === undefined ? t("wrongValue") : "");
    changed(value);
  };
  const isLocalized = column.localized_value && languages.length > 0;
  const control = isLocalized
    ? localizedControl(column, id, context, told)
    : plainControl(column, id, context, told);
  const isRequired = column.required === true;
  const tell = (text: string) => {
    problem.textContent = text;
    problem.hidden = text === "";
    for (const input of control.inputs) {
      input.setAttribute("aria-invalid", String(text !== ""));
      if (text === "") input.removeAttribute("aria-describedby");
      else input.setAttribute("aria-describedby", problem.id);
    }
  };
  for (const input of control.inputs) if (isRequired) input.setAttribute("aria-required", "true");
  const label = h(
    "label",
    { for: control.inputs[0]?.id ?? id },
    columnTitle(column),
    isRequired && h("span", { class: "required", "aria-hidden": "true" }, " *"),
  );
  return {
    element: h("div", { class: "object-field", "data-code": column.code }, label, control.element, problem),
    show: (value) => {
      tell("");
      control.show(value);
    },
    tell,
    focus: () => control.inputs[0]?.focus(),
  };
}

function plainControl(column: ColumnInfo, id: string, context: FieldContext, changed: Changed): Control {
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
      return textControl(h("input", { ...plain(id), inputmode: "decimal" }), numberRead, changed);
    case "json":
      return textControl(h("textarea", { ...plain(id), rows: 3, spellcheck: "false" }), jsonRead, changed);
    case "text":
      return textControl(h("textarea", { ...plain(id), rows: 3 }), textRead, changed);
    default:
      return textControl(h("input", plain(id)), textRead, changed);
  }
}

const plain = (id: string) => ({ class: "field", id, autocomplete: "off" });

interface Reading {
  written(value: unknown): string;
  /** Undefined = it is none. */
  read(text: string): unknown;
}
const empty = (value: unknown): boolean => value === null || value === undefined;
const textRead: Reading = {
  written: (value) => (empty(value) ? "" : String(value)),
  read: (text) => (text === "" ? null : text),
};
const numberRead: Reading = {
  written: textRead.written,
  read: (text) => {
    const compact = text.replace(/[\s\u00a0\u202f]/g, "").replace(",", ".");
    if (compact === "") return null;
    return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(compact) ? Number(compact) : undefined;
  },
};
const jsonRead: Reading = {
  written: (value) => (empty(value) ? "" : JSON.stringify(value, undefined, 2)),
  read: (text) => {
    if (text.trim() === "") return null;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return undefined;
    }
  },
};

function textControl(
  input: HTMLInputElement | HTMLTextAreaElement,
  reading: Reading,
  changed: Changed,
): Control {
  input.addEventListener("input", () => changed(reading.read(input.value)));
  return {
    element: input,
    inputs: [input],
    show: (value) => {
      input.value = reading.written(value);
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

function choiceControl(id: string, choices: readonly Choice[], changed: Changed): Control {
  const select = h("select", { class: "field", id });
  let offered: readonly Choice[] = choices;
  const fill = () =>
    select.replaceChildren(
      h("option", { value: "" }, "—"),
      ...offered.map(({ text }, at) => h("option", { value: at }, text)),
    );
  fill();
  select.addEventListener("change", () =>
    changed(select.value === "" ? null : offered[Number(select.value)]?.value),
  );
  return {
    element: select,
    inputs: [select],
    show: (value) => {
      const isKnown = empty(value) || choices.some((choice) => choice.value === value);
      // What it has now can be kept.
      offered = isKnown ? choices : [...choices, { value, text: String(value) }];
      fill();
      const at = offered.findIndex((choice) => choice.value === value);
      select.value = at < 0 ? "" : String(at);
    },
  };
}

function momentControl(id: string, { t }: FieldContext, changed: Changed): Control {
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
    // A date that is half written is none.
    const isHalf = date.validity.badInput || time.validity.badInput;
    changed(isHalf ? undefined : momentValue({ date: date.value, time: time.value }));
  };
  for (const input of [date, time]) input.addEventListener("input", read);
  text.addEventListener("input", () => changed(textRead.read(text.value)));
  return {
    element: h("span", { class: "object-moment" }, date, time, text),
    inputs: [date, time, text],
    show: (value) => {
      const moment = empty(value) ? { date: "", time: "" } : momentOf(String(value));
      date.hidden = time.hidden = !moment;
      text.hidden = moment !== undefined;
      text.value = moment ? "" : String(value);
      date.value = moment?.date ?? "";
      time.value = moment?.time ?? "";
    },
  };
}

/** A control for each language: the main one, and the others when they are asked for. */
function localizedControl(column: ColumnInfo, id: string, context: FieldContext, changed: Changed): Control {
  const { t, languages } = context;
  let values: Readonly<Record<string, unknown>> = {};
  const controls = languages.map((language) => {
    const plainOne = plainControl(column, `${id}-${language}`, context, (value) => {
      const { [language]: _, ...others } = values;
      values = value === null ? others : { ...others, [language]: value };
      const isWrong = Object.values(values).includes(undefined);
      changed(isWrong ? undefined : values);
    });
    for (const input of plainOne.inputs) {
      input.lang = language;
      input.setAttribute("aria-label", `${columnTitle(column)} (${language})`);
    }
    return { language, ...plainOne };
  });
  const row = ({ language, element }: (typeof controls)[number]) =>
    h(
      "span",
      { class: "object-language" },
      h("span", { class: "pill", "aria-hidden": "true" }, language),
      element,
    );
  const [main, ...others] = controls.map(row);
  const more =
    others.length > 0 &&
    h("details", { class: "object-languages" }, h("summary", {}, t("otherLanguages")), ...others);
  return {
    element: h("div", {}, main, more),
    inputs: controls.flatMap(({ inputs }) => inputs),
    show: (value) => {
      values =
        typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
      for (const { language, show } of controls) show(values[language]);
    },
  };
}
