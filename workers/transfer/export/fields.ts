import type { ExportedColumn, FileFormat } from "../../../src/hosts/export-messages.js";
import { cutToBytes, escapedForCp1251, isInCp1251, toCp1251 } from "./encodings.js";
import type { Field, FieldValue } from "./flatgeobuf.js";
import { geometryColumn } from "./geo-metadata.js";
import { type Losses, lossOfColumn } from "./losses.js";
import { type NameRules, namesOf } from "./names.js";
import { microsecondsOf } from "./parquet.js";
import type { SurveyedColumn } from "./survey.js";

/** The fields of a file: their names and types, and what becomes of values that they cannot hold. */

export interface PlannedField {
  readonly field: Field;
  /** The value to write; counts losses. */
  readonly convert: (value: FieldValue) => FieldValue;
}

export interface FieldPlan {
  /** Without `svc_id`, which comes first in every file. */
  readonly fields: readonly PlannedField[];
  /** Losses that concern whole columns. */
  readonly notes: readonly string[];
}

const nameRules: Readonly<Record<FileFormat, NameRules>> = {
  shp: { longest: 10, taken: ["svc_id"] },
  mif: { longest: 31, taken: ["svc_id"] },
  tab: { longest: 31, taken: ["svc_id"] },
  gpkg: { taken: ["svc_id", "fid", "geom"] },
  fgb: { taken: ["svc_id"] },
  parquet: { taken: ["svc_id", geometryColumn] },
};

/** What a conversion needs of its column. */
interface Place {
  readonly column: ExportedColumn;
  readonly name: string;
  readonly survey: SurveyedColumn;
  readonly losses: Losses;
}

type Planner = (place: Place) => PlannedField & { readonly note?: string };

export function planFields(
  format: FileFormat,
  columns: readonly ExportedColumn[],
  surveyed: readonly SurveyedColumn[],
  losses: Losses,
): FieldPlan {
  const names = namesOf(
    columns.map(({ name }) => name),
    nameRules[format],
  );
  const notes: string[] = [];
  const fields = columns.map((column, index): PlannedField => {
    const name = names[index]!;
    if (name !== column.name) notes.push(`Column "${column.name}": its name in the file is "${name}".`);
    const { field, convert, note } = planners[format]({ column, name, survey: surveyed[index]!, losses });
    if (note !== undefined) notes.push(`Column "${column.name}": ${note}`);
    return { field, convert };
  });
  return { fields, notes };
}

const planners: Readonly<Record<FileFormat, Planner>> = {
  fgb: (place) => typed(place),
  parquet: (place) => {
    const planned = typed(place);
    return place.column.type === "datetime" ? { ...planned, convert: finiteTimes(place) } : planned;
  },
  gpkg: (place) => {
    const isFine = place.column.type === "datetime" && place.survey.fraction > 3;
    if (place.column.type === "json") return { ...typed(place), note: typeNotes.json };
    if (!isFine) return typed(place);
    const field = { name: place.name, type: "text" } as const;
    const note = "it has times finer than a millisecond, so its times are written as texts in ISO 8601.";
    return { field, convert: same, note };
  },
  shp: (place) => (place.column.type === "number" ? decimal(place, 24, same) : dbfText(place)),
  mif: (place) => {
    if (place.column.type === "number") {
      const planned = decimal(place, 20, emptyNumbers(place));
      return planned.field.type === "text"
        ? { ...planned, convert: emptyTexts(place, planned.convert) }
        : planned;
    }
    const { convert, ...rest } = mapInfoText(place);
    return { ...rest, convert: lineBreaks(place, convert) };
  },
  tab: (place) => {
    if (place.column.type !== "number") return mapInfoText(place);
    const { field, convert } = typed(place);
    const empty = emptyNumbers(place);
    return { field, convert: (value) => empty(convert(value)) };
  },
};

const same = (value: FieldValue): FieldValue => value;
const fieldTypes = {
  number: "double",
  text: "text",
  datetime: "datetime",
  bool: "bool",
  json: "json",
} as const;

/** A field of the column's own type. */
function typed({ column, name, losses }: Place): PlannedField {
  const field = { name, type: fieldTypes[column.type] };
  return { field, convert: column.type === "number" ? finite(column, losses) : same };
}

/** SQL clients can store NaN and infinities, which most programs cannot read. */
function finite({ name }: ExportedColumn, losses: Losses): (value: FieldValue) => FieldValue {
  const loss = lossOfColumn(
    name,
    "# value that is no finite number was left out.",
    "# values that are no finite numbers were left out.",
  );
  return (value) => {
    if (value === null || Number.isFinite(value)) return value;
    losses.add(loss);
    return null;
  };
}

function finiteTimes({ column, losses }: Place): PlannedField["convert"] {
  const loss = lossOfColumn(
    column.name,
    "# time before the year 0 or without end was left out.",
    "# times before the year 0 or without end were left out.",
  );
  return (value) => {
    if (value === null || microsecondsOf(String(value)) !== undefined) return value;
    losses.add(loss);
    return null;
  };
}

/** A number of fixed digits where that is exact for all values, else its text. */
function decimal(place: Place, widest: number, then: PlannedField["convert"]): ReturnType<Planner> {
  const { column, name, survey, losses } = place;
  const check = finite(column, losses);
  const { decimals } = survey;
  const width = 1 + Math.max(1, survey.digits) + (decimals > 0 ? 1 + decimals : 0);
  if (width <= widest)
    return { field: { name, type: "double", width, decimals }, convert: (value) => then(check(value)) };
  const note = "its numbers are written as texts, since the format would round them.";
  return {
    field: { name, type: "text", width: 40 },
    convert: (value) => {
      const number = check(value);
      return number === null ? null : String(number);
    },
    note,
  };
}

const typeNotes = {
  text: undefined,
  number: undefined,
  datetime: "its times are written as texts in ISO 8601.",
  bool: "its values are written as the texts true and false.",
  json: "its values are written as texts in JSON.",
} as const;

const longestText = 254;

const lossOfCut = (column: string, unit: "bytes" | "characters") =>
  lossOfColumn(
    column,
    `# text was cut to ${longestText} ${unit}.`,
    `# texts were cut to ${longestText} ${unit}.`,
  );

function dbfText({ column, name, survey, losses }: Place): ReturnType<Planner> {
  const cut = lossOfCut(column.name, "bytes");
  const blank = lossOfColumn(
    column.name,
    "# empty text is read as no value.",
    "# empty texts are read as no value.",
  );
  const spaces = lossOfColumn(
    column.name,
    "# text loses the spaces around it.",
    "# texts lose the spaces around them.",
  );
  const convert = (value: FieldValue): FieldValue => {
    if (value === null) return null;
    let text = String(value);
    if (text === "") losses.add(blank);
    else if (text.length * 3 > longestText && Buffer.byteLength(text) > longestText) {
      losses.add(cut);
      text = cutToBytes(text, longestText);
    }
    if (text.startsWith(" ") || text.endsWith(" ")) losses.add(spaces);
    return text;
  };
  const width = column.type === "bool" ? 5 : Math.min(longestText, Math.max(1, survey.bytes));
  return withNote({ field: { name, type: "text", width }, convert }, typeNotes[column.type]);
}

function mapInfoText({ column, name, survey, losses }: Place): ReturnType<Planner> {
  const cut = lossOfCut(column.name, "characters");
  const foreign = lossOfColumn(
    column.name,
    'in # text, characters that are not in Windows-1251 became "?".',
    'in # texts, characters that are not in Windows-1251 became "?".',
  );
  const convert = emptyTexts({ column, losses }, (value) => {
    let text = String(value);
    if (!isInCp1251(text) && column.type === "json") text = escapedForCp1251(text);
    else if (!isInCp1251(text)) {
      losses.add(foreign);
      text = toCp1251(text);
    }
    if (text.length > longestText) {
      losses.add(cut);
      text = text.slice(0, longestText);
    }
    return text;
  });
  // JSON may have escapes, which make it longer.
  const characters = column.type === "json" ? longestText : survey.characters;
  const width = column.type === "bool" ? 5 : Math.min(longestText, Math.max(1, characters));
  return withNote({ field: { name, type: "text", width }, convert }, typeNotes[column.type]);
}

/** MapInfo has no missing texts. */
function emptyTexts(
  { column, losses }: Pick<Place, "column" | "losses">,
  convert: PlannedField["convert"],
): PlannedField["convert"] {
  const loss = lossOfColumn(
    column.name,
    "# missing value became an empty text.",
    "# missing values became empty texts.",
  );
  return (value) => {
    const text = value === null ? null : convert(value);
    if (text !== null) return text;
    losses.add(loss);
    return "";
  };
}

/** MID files have a row on each line. */
function lineBreaks({ column, losses }: Place, convert: PlannedField["convert"]): PlannedField["convert"] {
  const loss = lossOfColumn(
    column.name,
    "line breaks of # text are written as \\n.",
    "line breaks of # texts are written as \\n.",
  );
  return (value) => {
    const text = convert(value);
    if (typeof text !== "string" || !/[\r\n]/.test(text)) return text;
    losses.add(loss);
    return text.replace(/\r\n?/g, "\n");
  };
}

function emptyNumbers({ column, losses }: Place): PlannedField["convert"] {
  const loss = lossOfColumn(column.name, "# missing value is read as 0.", "# missing values are read as 0.");
  return (value) => {
    if (value === null) losses.add(loss);
    return value;
  };
}

const withNote = (planned: PlannedField, note: string | undefined) =>
  note === undefined ? planned : { ...planned, note };
