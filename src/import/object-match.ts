import { layerTable } from "../catalog/layer-table.js";
import { type Column, isId } from "../catalog/state.js";
import { definitionOf, hasValues, isText } from "../column-types/column-types.js";
import { failed } from "../errors.js";
import { didYouMean } from "../near-name.js";
import { valueSql } from "./convert.js";
import type { Matched } from "./match.js";

/** Which object of the layer a staged row changes: by its id, or by the value of a key column. SQL, in which `s` is the row. */
export interface ObjectMatch {
  /** FROM clause of the staged rows, with what `id` refers to. */
  readonly from: string;
  /** The object's id. By ids, the object may not exist; by key, null = no object has the value. */
  readonly id: string;
  /** The staged text that names the object. */
  readonly name: string;
  /** The value that names the object; null = the row names none. */
  readonly given: string;
  /** The column that objects are matched by. */
  readonly column: string;
  /** Whether a new object gets the id that the row names. */
  readonly givesIds: boolean;
}

/** The staged rows alone. */
export const stagedRows = (staging: string): string => `staging.${staging} s`;

/** SQL of a staged object id that the checks have accepted; some programs write 12 as 12.0. */
export const idSql = (index: number): string => `split_part(s.p${index}, '.', 1)::bigint`;

/** By the property with object ids. */
export const matchById = (staging: string, index: number): ObjectMatch => ({
  from: stagedRows(staging),
  id: idSql(index),
  name: `s.p${index}`,
  given: `s.p${index}`,
  column: "svc_id",
  givesIds: true,
});

/** By a column's value, which the checks have found to be that of one object at most. Empty values match nothing. */
export function matchByKey(staging: string, layerId: number, key: Matched): ObjectMatch {
  const { column, index } = key;
  const filled = (value: string) => (isText(column) ? `nullif(${value}, '')` : value);
  const given = filled(valueSql(key, () => "''"));
  const objects = `select t.${column.physical} as value, min(t.svc_id) as id from ${layerTable(layerId)} t
    where t.${column.physical} is not null group by 1`;
  return {
    from: `${stagedRows(staging)} left join (${objects}) k on k.value = ${given}`,
    id: "k.id",
    name: `s.p${index}`,
    given,
    column: column.code,
    givesIds: false,
  };
}

/** The only column of that name in any language: those who know the file know its names, not the codes made of them. */
function columnNamed(columns: readonly Column[], name: string): Column | undefined {
  const named = columns.filter((column) => [column.name, ...Object.values(column.names)].includes(name));
  return named.length === 1 ? named[0] : undefined;
}

/**
 * The column of the parameter `key`, by its code or its name.
 * @throws Failure unknown_column; invalid_value for a column whose values cannot name objects
 */
export function keyColumn(columns: readonly Column[], code: string): Column {
  const column = columns.find((one) => one.code === code) ?? columnNamed(columns, code);
  if (!column) {
    const codes = columns.map((one) => one.code);
    throw failed(
      "unknown_column",
      `The layer has no column "${code}" to match objects by${didYouMean(code, codes)}`,
      { column: code },
    );
  }
  if (isId(column)) return column;
  if (!hasValues(column) || column.localizedValue || !definitionOf(column).isComparable) {
    throw failed(
      "invalid_value",
      `Objects cannot be matched by the column "${code}": a key has one comparable value without languages.`,
      { parameter: "key", column: code },
    );
  }
  return column;
}
