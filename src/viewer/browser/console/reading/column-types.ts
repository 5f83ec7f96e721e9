import type { TextKey, Translate } from "../../texts.js";
import type { ColumnWish } from "./read-file.js";

/** What the values of a column can be taken for. */

type Kind = Required<Pick<ColumnWish, "type">> & Pick<ColumnWish, "notation">;

const names: Readonly<Record<string, TextKey>> = {
  string: "typeText",
  text: "typeLongText",
  number: "typeNumber",
  datetime: "typeTime",
  bool: "typeBool",
};

/** Notations that must be said, with a value in each. */
const examples: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  number: { plain: "1234.5", decimal_comma: "1.234,5", grouped: "1,234.5" },
  datetime: {
    plain: "2024-12-31",
    day_first: "31.12.2024",
    month_first: "12/31/2024",
    year_first: "2024/12/31",
  },
};

/** All of them, as values of options. */
export const kinds: readonly string[] = ["string", "text", "number", "datetime", "bool", "json"].flatMap(
  (type) => (examples[type] ? Object.keys(examples[type]).map((notation) => `${type} ${notation}`) : [type]),
);

/** The value of the option. */
export const kindOf = ({ type, notation }: Kind): string =>
  examples[type] ? `${type} ${notation ?? "plain"}` : type;

export function wishOf(kind: string): Kind {
  const [type = "", notation] = kind.split(" ");
  return notation === undefined ? { type } : { type, notation };
}

export function kindName(t: Translate, kind: string): string {
  const { type, notation } = wishOf(kind);
  const name = names[type] ? t(names[type]) : type === "json" ? "JSON" : type;
  return notation === undefined ? name : `${name} ${examples[type]?.[notation] ?? ""}`.trim();
}

/** As `kindName`, without an example where values are written as usual. */
export const foundName = (t: Translate, { type, notation }: Kind): string =>
  notation === undefined ? kindName(t, type) : kindName(t, kindOf({ type, notation }));
