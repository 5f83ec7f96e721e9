import { type Column, isId } from "../catalog/state.js";
import { definitionOf, isText, type ValueType } from "../column-types/column-types.js";
import { columnsOf, isLocalised, valueColumns } from "../features/column-sql.js";
import { surveyStatement } from "../features/list.js";
import { literal } from "../features/sql.js";
import { translationName } from "../features/translations.js";
import type { Database } from "../storage/postgres.js";
import { columnList } from "./export-notes.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { selectionOf, survey } from "./export-survey.js";

/** The columns of exported files that have the same columns for each object, unlike GeoJSON. */

export interface FileColumn {
  readonly code: string;
  /** The column's code; of one of several languages `name_ru`, or `name:ru` (see `translationName`). Unique. */
  readonly name: string;
  /** The column's type; "id" for the object id. */
  readonly type: ValueType | "id";
  /** Whether values are text, else numbers and so on as text. */
  readonly isText: boolean;
  /** SQL of the value as text, over a row of the layer's table; null when it has none. */
  readonly sql: string;
  /** Name of that value in the SQL of a row's text. */
  readonly alias: string;
}

/** SQL of the columns' values by their aliases. */
export const valueReads = (columns: readonly FileColumn[]): string[] =>
  columns.map(({ sql, alias }) => `${sql} as ${alias}`);

export interface FileColumns {
  readonly columns: readonly FileColumn[];
  readonly notes: readonly string[];
}

/**
 * Columns to write, the object id first. When all languages are asked for, those that values have beyond the project's
 * follow.
 * @throws Failure unknown_column
 */
export async function fileColumns(
  db: Database,
  target: ExportTarget,
  request: ExportRequest,
): Promise<FileColumns> {
  const { layer } = target;
  const ids = layer.columns.filter(isId);
  const fields = request.fields ? columnsOf(layer, request.fields) : valueColumns(layer);
  const columns = [...new Set([...ids, ...fields])];
  const localised = columns.filter(isLocalised);
  const further =
    request.languages !== undefined || localised.length === 0
      ? new Map<Column, string[]>()
      : await furtherLanguages(db, localised, target, request);
  const listed = columns.flatMap((column) => {
    if (!isLocalised(column)) return [{ code: column.code, name: column.code, ...plain(column) }];
    return languageNames(column, target, request, further?.get(column) ?? []).map(([language, name]) => ({
      code: column.code,
      name,
      ...translated(column, language),
    }));
  });
  return {
    columns: listed.map((column, index) => ({ ...column, alias: `v${index}` })),
    notes: further
      ? []
      : [
          "The layer is too large to look for values in languages that the project does not have; if there are any, they are " +
            `missing: ${columnList(localised.map(({ code }) => code))}.`,
        ],
  };
}

const titleCodes = new Set(["name", "title"]);

/** The column whose values name the objects, in its first language: one with such a code, else the first of short texts. */
export const titleColumn = (columns: readonly FileColumn[]): FileColumn | undefined =>
  columns.find(({ code, isText }) => isText && titleCodes.has(code.toLowerCase())) ??
  columns.find(({ type }) => type === "string");

function plain(column: Column) {
  if (isId(column)) return { type: "id", isText: false, sql: "svc_id::text" } as const;
  const type = column.type as ValueType;
  return { type, isText: isText(column), sql: definitionOf(column).fileText(column.physical) };
}

function translated(column: Column, language: string) {
  const type = column.type as ValueType;
  const own = `(${column.physical}->${type === "json" ? "" : ">"}${literal(language)})`;
  return { type, isText: isText(column), sql: type === "json" ? `nullif(${own},'null')::text` : own };
}

/** The name of the file's column for each language. If there is only one, it is the column's code, as in GeoJSON. */
function languageNames(
  column: Column,
  { layer, map }: ExportTarget,
  request: ExportRequest,
  further: readonly string[],
): readonly (readonly [language: string, name: string])[] {
  const { languages } = map.project;
  const names = { languages, codes: new Set(layer.columns.map(({ code }) => code)) };
  const listed = request.languages ?? languages;
  const named = (language: string) => [language, translationName(column.code, language, names)] as const;
  const [only] = listed;
  return [
    ...(listed.length === 1 ? [[only, column.code] as const] : listed.map(named)),
    ...further.map(named),
  ];
}

/** Languages of each localised column's values that the project does not have, sorted; undefined if it takes too long. */
async function furtherLanguages(
  db: Database,
  columns: readonly Column[],
  target: ExportTarget,
  request: ExportRequest,
): Promise<ReadonlyMap<Column, readonly string[]> | undefined> {
  const own = `array[${target.map.project.languages.map(literal).join(",")}]::text[]`;
  const reads = columns.map(({ physical }) => `${physical}-${own} as ${physical}`);
  const keys = columns.map(
    ({ physical }, index) =>
      `select ${index} as i,k from jsonb_object_keys(${physical}) k where ${physical}<>'{}'`,
  );
  const statement = surveyStatement(
    target.layer,
    selectionOf(target, request),
    reads,
    (rows) => `distinct i,k from ${rows},lateral (${keys.join(" union all ")}) keys order by i,k`,
  );
  const found = await survey<{ i: number; k: string }>(db, statement, request.signal);
  return (
    found &&
    new Map(columns.map((column, index) => [column, found.filter(({ i }) => i === index).map(({ k }) => k)]))
  );
}
