import { z } from "zod";
import { columnCodePattern } from "../../catalog/codes.js";
import { columnTypes, readColumnType, typeDescriptions } from "../../column-types/column-types.js";
import { failed } from "../../errors.js";
import { anything, flag, number, toNumber } from "../request/schema/fields.js";
import { nameFields } from "../request/schema/names.js";
import { readBy, ruled } from "../request/schema/schema.js";

/** What bodies say of a column. */

/** Else type_required, unknown_type. */
const type = readBy(z.unknown(), readColumnType).meta({
  description: `Type of the values. ${typeDescriptions}. A title heads other columns and has none; \`timestamp\` means \`datetime\`.`,
  enum: [...columnTypes, "timestamp"],
});

/** Any text: which ones are codes is told where it is stored. Else invalid_code. */
const code = ruled(z.string(), {
  refuse: () => failed("invalid_code", "A column code is a text."),
}).meta({
  description: "Code, unique in the layer; on a change, the new one.",
  pattern: columnCodePattern.source,
});

const sort = number("Place among the parent's columns; default: the last. The others are renumbered.");

/** Ids of columns are PostgreSQL integers. */
const highestId = 2 ** 31 - 1;
const noColumn = "must be the id of a column";

/** null and 0 = top level. Else a bad request. */
const parent = ruled(
  z.preprocess(
    (given) => (given === null || given === "" ? 0 : toNumber(given)),
    z.number("must be a number").int(noColumn).min(-highestId, noColumn).max(highestId, noColumn),
  ),
  { blanks: [] },
).meta({ description: "Id of the title column that it is under; 0 = top level.", minimum: 0 });

const words = {
  anyOf: [{ type: "string" }, { type: "object", additionalProperties: { type: "string" } }],
  description: "A text, or one per language",
};

/** It is checked together with the type. */
const format = anything(
  "How values are shown by `f=fjson` and on paper; its kind is the column's type. null takes it away.",
  {
    anyOf: [
      {
        type: "object",
        required: ["kind"],
        properties: {
          kind: { const: "number" },
          decimals: { type: "integer", minimum: 0, maximum: 20 },
          grouping: { type: "boolean" },
          prefix: words,
          suffix: words,
        },
      },
      {
        type: "object",
        required: ["kind", "pattern"],
        properties: {
          kind: { const: "datetime" },
          pattern: { ...words, description: "As dd.MM.yyyy HH:mm; literal letters stand in quotes" },
        },
      },
      {
        type: "object",
        required: ["kind"],
        properties: { kind: { const: "bool" }, true: words, false: words },
      },
      { type: "null" },
    ],
    examples: [{ kind: "number", decimals: 2, suffix: " m" }],
  },
);

export const columnFields = {
  type,
  code: code.optional(),
  ...nameFields,
  localized_value: flag("Whether values are in several languages.").optional(),
  required: flag("Whether objects have to have a value when they are saved, in some language.").optional(),
  sort: sort.optional(),
  parent_id: parent.optional(),
  format: format.optional(),
};

/** Of a new column, which needs a code. Else also required_parameters. */
export const newColumnFields = { ...columnFields, code };
