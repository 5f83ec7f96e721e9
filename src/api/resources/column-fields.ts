import { columnCodePattern } from "../../catalog/codes.js";
import {
  type ColumnType,
  columnTypes,
  readColumnType,
  typeDescriptions,
} from "../../column-types/column-types.js";
import { badRequest, failed, required } from "../../errors.js";
import { anything, type Field, flag, number } from "../request/schema/fields.js";
import { nameFields } from "../request/schema/names.js";

/** What bodies say of a column. */

/** Else type_required, unknown_type. */
const type: Field<ColumnType> = {
  description: `Type of the values. ${typeDescriptions}. A title heads other columns and has none; \`timestamp\` means \`datetime\`.`,
  schema: { enum: [...columnTypes, "timestamp"] },
  refusesAbsence: true,
  read: readColumnType,
};

/** Any text: which ones are codes is told where it is stored. Else invalid_code. */
const code: Field<string | undefined> = {
  description: "Code, unique in the layer; on a change, the new one.",
  schema: { type: "string", pattern: columnCodePattern.source },
  read: (given) => {
    if (given === undefined || given === null || given === "") return undefined;
    if (typeof given !== "string") throw failed("invalid_code", "A column code is a text.");
    return given;
  },
};

const sort = number("Place among the parent's columns; default: the last. The others are renumbered.");

/** Ids of columns are PostgreSQL integers. */
const highestId = 2 ** 31 - 1;

/** Absent = undefined; null and 0 = top level. Else a bad request. */
const parent: Field<number | undefined> = {
  description: "Id of the title column that it is under; 0 = top level.",
  schema: { type: "integer", minimum: 0, maximum: highestId },
  read: (given, name) => {
    if (given === undefined) return undefined;
    const id = sort.read(given, name) ?? 0;
    if (!Number.isInteger(id) || Math.abs(id) > highestId)
      throw badRequest(`${name} must be the id of a column.`);
    return id;
  },
};

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
  code,
  ...nameFields,
  localized_value: flag("Whether values are in several languages."),
  required: flag("Whether objects have to have a value when they are saved, in some language."),
  sort,
  parent_id: parent,
  format,
};

/** Of a new column, which needs a code. Else also required_parameters. */
export const newColumnFields = {
  ...columnFields,
  code: {
    ...code,
    required: true,
    read: (given: unknown, name: string): string => {
      const value = code.read(given, name);
      if (value === undefined) throw required([name]);
      return value;
    },
  },
};
