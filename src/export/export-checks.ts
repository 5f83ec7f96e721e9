import { counted } from "../counted.js";
import { surveyStatement } from "../features/list.js";
import type { Database } from "../storage/postgres.js";
import { columnList } from "./export-notes.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { selectionOf, survey } from "./export-survey.js";

/** Looks for values that a format cannot hold. */

export interface Check {
  /** What the file has instead, without a full stop: "Texts are cut to 32,767 characters". */
  readonly says: string;
  /** SQL conditions of such values over the columns read, by column name. */
  readonly columns?: ReadonlyMap<string, string>;
  /** SQL condition of such objects, if it is not about columns. */
  readonly objects?: string;
}

/** SQL of the columns that `conditions` read, over a row of the layer's table: "geom", "(c12->>'en') as v1". */
type Reads = readonly string[];

/** Notes of the checks that find something, with the columns and the number of objects. */
export async function checkedNotes(
  db: Database,
  target: ExportTarget,
  request: ExportRequest,
  { reads, checks }: { readonly reads: Reads; readonly checks: readonly Check[] },
): Promise<string[]> {
  const conditions = checks.flatMap(({ columns, objects }) => [
    ...(columns?.values() ?? []),
    ...(objects ? [objects] : []),
  ]);
  if (conditions.length === 0) return [];
  const counts = conditions.map((condition) => `count(*) filter (where ${condition})`).join(",");
  const statement = surveyStatement(
    target.layer,
    selectionOf(target, request),
    reads,
    (rows) => `array[${counts}]::text[] as counts from ${rows}`,
  );
  const rows = await survey<{ counts: string[] }>(db, statement, request.signal);
  const found = rows?.[0]?.counts.map(Number);
  let at = 0;
  return checks.flatMap(({ says, columns, objects }) => {
    const names = [...(columns?.keys() ?? [])];
    const own = found?.slice(at, at + names.length + (objects ? 1 : 0));
    at += names.length + (objects ? 1 : 0);
    if (!own) return `${says}, if there are any${names.length > 0 ? `: ${columnList(names)}` : ""}.`;
    const concerned = own.flatMap((count, index) => (count > 0 ? [named(names[index], count)] : []));
    return concerned.length > 0 ? `${says}: ${columnList(concerned)}.` : [];
  });
}

function named(name: string | undefined, count: number): string {
  const objects = counted(count, "object");
  return name === undefined ? objects : `${name} (${objects})`;
}
