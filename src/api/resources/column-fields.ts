import { z } from "zod";
import { columnCodePattern } from "../../catalog/codes.js";
import { columnTypes, readColumnType, typeDescriptions } from "../../column-types/column-types.js";
import { failed } from "../../errors.js";
import { anything, flag, number, toNumber } from "../request/schema/fields.js";
import { nameFields } from "../request/schema/names.js";
import { readBy, ruled } from "../request/schema/schema.js";

/** Fields of a column in request bodies. */

/** Else type_required, unknown_type. */
const type = readBy(z.unknown(), readColumnType).meta({
  description: `Type of the values. ${typeDescriptions}. A title column groups others; \`timestamp\` means \`datetime\`.`,
  enum: [...columnTypes, "timestamp"],
});

/** A string; its pattern is checked when the column is stored. Else invalid_code. */
const code = ruled(z.string(), {
  refuse: () => failed("invalid_code", "A column code is a text."),
}).meta({
  description: "Code, unique in the layer; for a change, the new code.",
  pattern: columnCodePattern.source,
});

const sort = number("Position among the columns of the parent; default: last. The others are renumbered.");

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
).meta({ description: "Id of the parent title column; 0 = top level.", minimum: 0 });

const localizedText = {
  anyOf: [{ type: "string" }, { type: "object", additionalProperties: { type: "string" } }],
  description: "A string, or an object with one string per language code",
};

/** Validated together with the type. */
const format = anything(
  "Format of values with `f=fjson` and in PDF; `kind` is the type of the column. null removes it.",
  {
    anyOf: [
      {
        type: "object",
        required: ["kind"],
        properties: {
          kind: { const: "number" },
          decimals: { type: "integer", minimum: 0, maximum: 20 },
          grouping: { type: "boolean" },
          prefix: localizedText,
          suffix: localizedText,
        },
      },
      {
        type: "object",
        required: ["kind", "pattern"],
        properties: {
          kind: { const: "datetime" },
          pattern: {
            ...localizedText,
            description: "For example dd.MM.yyyy HH:mm; literal letters are quoted",
          },
        },
      },
      {
        type: "object",
        required: ["kind"],
        properties: { kind: { const: "bool" }, true: localizedText, false: localizedText },
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
  localized_value: flag("Whether values are localised.").optional(),
  required: flag(
    "Whether objects must have a value, in at least one language, when they are saved.",
  ).optional(),
  sort: sort.optional(),
  parent_id: parent.optional(),
  format: format.optional(),
};

/** Fields of a new column, which requires a code. Else also required_parameters. */
export const newColumnFields = { ...columnFields, code };
