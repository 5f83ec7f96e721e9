import { parse } from "node:path";
import type { FileTable } from "../../src/hosts/import-messages.js";
import type { FormatReader } from "./readers/formats.js";
import type { FindTables, OwnTable } from "./readers/reader.js";
import { Refusal, refused } from "./refusal.js";
import { shown } from "./zip-archive.js";

/** The tables of the files of an import, by the names that clients know them by. */

/** A file that is not part of another one. */
export interface Dataset extends FormatReader {
  /** In the folder of the import. */
  readonly name: string;
  /** As the client calls it, or the archive. */
  readonly clientName: string;
}

export interface Table {
  /** No other table has it. */
  readonly name: string;
  readonly dataset: Dataset;
  /** Absent = the file is one table, and tells nothing of it. */
  readonly own?: OwnTable | undefined;
}

/** Characters of a name. */
const longestName = 200;
/** Tables that a refusal lists. */
const listedTables = 1_000;
/** Tables that its sentence names. */
const namedTables = 10;

type FindTask = Parameters<FindTables>[0];

/** @throws Refusal when the only file cannot be read */
export async function tablesOf(
  datasets: readonly Dataset[],
  taskOf: (dataset: Dataset) => FindTask,
): Promise<readonly Table[]> {
  const found: Table[] = [];
  const isAlone = datasets.length === 1;
  const files = filesOf(datasets);
  for (const [index, dataset] of datasets.entries()) {
    const file = files[index]!;
    const own = await ownTables(dataset, taskOf(dataset), isAlone);
    if (own.length < 2) {
      const [only] = own;
      found.push({ name: (isAlone && only && cleaned(only.name)) || file, dataset, own: only });
    } else
      for (const one of own) {
        const name = cleaned(one.name);
        found.push({ name: isAlone ? name || file : cleaned(`${file}/${name}`), dataset, own: one });
      }
  }
  return distinct(found);
}

/** Of several files those that cannot be read are told when they are imported. */
async function ownTables({ find }: Dataset, task: FindTask, isAlone: boolean): Promise<readonly OwnTable[]> {
  try {
    return (await find?.(task)) ?? [];
  } catch (error) {
    if (isAlone || !(error instanceof Refusal)) throw error;
    return [];
  }
}

/** What each file is called: without its folder and extension, where that tells it from the others. */
function filesOf(datasets: readonly Dataset[]): readonly string[] {
  const stems = datasets.map(({ clientName }) => cleaned(parse(clientName).name) || "data");
  const counts = new Map<string, number>();
  for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  return stems.map((stem, index) =>
    counts.get(stem) === 1 ? stem : cleaned(datasets[index]!.clientName) || stem,
  );
}

const cleaned = (name: string): string =>
  [
    ...name
      .slice(0, 10 * longestName)
      .replace(/[\p{Cc}\p{Bidi_Control}\p{Cs}]/gu, "")
      .trim(),
  ]
    .slice(0, longestName)
    .join("")
    .trim();

/** Gives numbers to the others of one name. */
function distinct(tables: readonly Table[]): readonly Table[] {
  const taken = new Set<string>();
  const next = new Map<string, number>();
  return tables.map((table) => {
    let { name } = table;
    while (taken.has(name)) {
      const number = (next.get(table.name) ?? 1) + 1;
      next.set(table.name, number);
      name = `${table.name} (${number})`;
    }
    taken.add(name);
    return { ...table, name };
  });
}

/** @throws Refusal when there is none of that name */
export function tableNamed(tables: readonly Table[], wanted: string): Table {
  const table =
    tables.find(({ name }) => name === wanted) ??
    tables.find(({ own }) => own !== undefined && own.name === wanted);
  if (table) return table;
  throw new Refusal("invalid_value", `There is no table ${shown(wanted)} in the file. ${summary(tables)}`, {
    parameter: "table",
    tables: listed(tables),
  });
}

/** @throws Refusal when several have features */
export function requireOneTable(tables: readonly Table[]): void {
  if (tables.filter(({ own }) => own?.features !== 0).length < 2) return;
  throw refused(`${summary(tables)} Name one of them by table.`, { tables: listed(tables) });
}

function summary(tables: readonly Table[]): string {
  const names = tables.slice(0, namedTables).map(({ name }) => shown(name));
  const more = tables.length - names.length;
  const list = names.join(", ") + (more > 0 ? ` and ${more} more` : "");
  return `The file has ${tables.length === 1 ? "one table" : `${tables.length} tables`}: ${list}.`;
}

const listed = (tables: readonly Table[]): readonly FileTable[] =>
  tables.slice(0, listedTables).map(({ name, dataset, own }) => ({
    name,
    format: dataset.format,
    ...(own?.geometry !== undefined && { geometry_type: own.geometry }),
    ...(own?.features !== undefined && { features: own.features }),
  }));
