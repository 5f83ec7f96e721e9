import { failed } from "../errors.js";
import type { ImportedField, Notation } from "../hosts/import-messages.js";
import type { Queryable } from "../storage/postgres.js";
import { type ColumnChoice, type ColumnChoices, notationName, notationsOf } from "./column-choices.js";
import { fitsSql, isFilledSql } from "./convert.js";
import type { FileField } from "./match.js";
import { stagedRows } from "./object-match.js";

/** Applies what an import is told of the properties of a file. */

export interface ChosenFields {
  /** In the order of the file's. */
  readonly fields: readonly FileField[];
  /** Sentences for the user. */
  readonly notes: readonly string[];
}

/** Names that a note lists. */
const listedNames = 10;

/**
 * Names, types and notations as they are wanted. Of texts that are to be of another type than was found, the notation is the
 * one that fits most of them; those that it does not fit are bad rows.
 * @throws Failure invalid_value when two properties would have one name
 */
export async function chooseFields(
  tx: Queryable,
  staging: string,
  found: readonly ImportedField[],
  choices: ColumnChoices,
): Promise<ChosenFields> {
  const fields = found.map((field) => applied(field, choices.get(field.name)));
  requireDifferentNames(fields);
  const doubtful = fields.flatMap((field, index) =>
    field.isDoubtful && field.notation === undefined ? [{ field, index }] : [],
  );
  const best = await bestNotations(tx, staging, doubtful);
  const notes = best.flatMap(({ field, notation }) =>
    notation === "loose"
      ? []
      : [`The column "${nameInFile(field)}" was read in the notation ${notationName(notation)}.`],
  );
  const notations = new Map(best.map(({ index, notation }) => [index, notation]));
  const known = new Set(found.map(({ name }) => name));
  const missing = [...choices.keys()].filter((name) => !known.has(name));
  return {
    fields: fields.map((field, index) => {
      const notation = notations.get(index);
      return notation ? { ...field, notation } : field;
    }),
    notes: [...(missing.length > 0 ? [missingNote(missing)] : []), ...notes],
  };
}

/** The name of a property in its file. */
export const nameInFile = (field: FileField): string => field.nameInFile ?? field.name;

function applied(found: ImportedField, choice: ColumnChoice | null | undefined): FileField {
  if (choice === undefined) return found;
  if (choice === null) return { ...found, isLeftOut: true };
  const { name, type, notation } = choice;
  const named: FileField = name === undefined ? found : { ...found, name, nameInFile: found.name };
  if (type === undefined) return named;
  const isSame = type === found.type && (notation === undefined || notation === (found.notation ?? "loose"));
  // The conversion to JSON wants to know what was found.
  if (isSame || type === "json") return { ...named, wanted: type };
  const { notation: _, ...unread } = named;
  const mayMisfit = notationsOf(type).length > 0;
  return { ...unread, wanted: type, type, ...(notation && { notation }), isDoubtful: mayMisfit };
}

function requireDifferentNames(fields: readonly FileField[]): void {
  const names = new Set<string>();
  for (const { name, isLeftOut } of fields) {
    if (isLeftOut) continue;
    if (names.has(name))
      throw failed("invalid_value", `Two columns would be called "${name.slice(0, 100)}".`, {
        parameter: "columns",
      });
    names.add(name);
  }
}

interface Doubtful {
  readonly index: number;
  readonly field: FileField;
}

/** The notation that fits most values; of several the first. */
async function bestNotations(
  tx: Queryable,
  staging: string,
  doubtful: readonly Doubtful[],
): Promise<readonly (Doubtful & { readonly notation: Notation })[]> {
  if (doubtful.length === 0) return [];
  const tests = doubtful.flatMap(({ field, index }) =>
    notationsOf(field.type).map((notation) => {
      const column = { type: field.type, code: field.name };
      const fits = fitsSql({ index, field: { ...field, notation }, column });
      // Cells without a value fit all notations, and say nothing of any.
      return `count(*) filter (where ${isFilledSql(index)} and (${fits}))`;
    }),
  );
  const [row] = await tx.query<{ counts: readonly string[] }>(
    `select array[${tests.join(", ")}] as counts from ${stagedRows(staging)}`,
  );
  const counts = row!.counts.map(Number);
  let place = 0;
  return doubtful.map((one) => {
    const possible = notationsOf(one.field.type);
    const own = counts.slice(place, place + possible.length);
    place += possible.length;
    return { ...one, notation: possible[own.indexOf(Math.max(...own))]! };
  });
}

function missingNote(names: readonly string[]): string {
  const listed = names.slice(0, listedNames).map((name) => `"${name.slice(0, 100)}"`);
  const more = names.length - listed.length;
  return `The file has no columns ${listed.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`;
}
