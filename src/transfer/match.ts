import type { NewColumn } from "../catalog/columns.js";
import type { Column } from "../catalog/state.js";
import type { ImportedField } from "../hosts/messages.js";
import { columnCodes } from "./codes.js";

/** Which property goes into which column. Pure. */

/** A property with the column that takes it. */
export interface Matched {
  /** The property's column in staging is `p<index>`. */
  readonly index: number;
  readonly field: ImportedField;
  readonly column: Column;
}
/** A property that no column of the layer takes yet. */
export interface Unmatched {
  readonly index: number;
  readonly field: ImportedField;
  readonly column: NewColumn;
}

export interface Matching {
  readonly known: readonly Matched[];
  readonly added: readonly Unmatched[];
  /** Index of the property that holds object ids, if the file has it. */
  readonly idIndex: number | undefined;
}

const takesValues = (column: Column): boolean =>
  column.type !== "geom" && column.type !== "title" && column.physical !== "svc_id";

/**
 * Properties find columns by their code first, then by their name in any language. Each column takes one property;
 * properties that are left get new columns.
 */
export function matchFields(fields: readonly ImportedField[], columns: readonly Column[]): Matching {
  const free = new Set(columns.filter(takesValues));
  const found = new Map<number, Column>();
  const idIndex = fields.findIndex((field) => field.name === "svc_id");
  const take = (fits: (column: Column, name: string) => boolean) => {
    fields.forEach(({ name }, index) => {
      if (index === idIndex || found.has(index)) return;
      for (const column of free) {
        if (!fits(column, name)) continue;
        found.set(index, column);
        free.delete(column);
        return;
      }
    });
  };
  take((column, name) => column.code === name);
  take((column, name) => (column.localized ? Object.values(column.names) : [column.name]).includes(name));

  const rest = fields
    .map((field, index) => ({ field, index }))
    .filter(({ index }) => index !== idIndex && !found.has(index));
  const codes = columnCodes(
    rest.map(({ field }) => field.name),
    columns.map((column) => column.code),
  );
  return {
    known: [...found].map(([index, column]) => ({ index, field: fields[index]!, column })),
    added: rest.map(({ field, index }, place) => ({
      field,
      index,
      column: {
        code: codes[place]!,
        type: field.type,
        name: { name: field.name, localized: false, names: {} },
      },
    })),
    idIndex: idIndex < 0 ? undefined : idIndex,
  };
}
