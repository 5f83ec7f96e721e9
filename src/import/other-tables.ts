import { z } from "zod";
import { jsonOf, refuseParameter } from "./json-parameter.js";

/** Tables of a file that go to other layers than the one that it was sent to, as the parameter `other_tables` has them. */

/** Each becomes an import of its own. */
const mostTables = 100;

const tables = z.record(z.string().min(1).max(1_000), z.string().max(200));

/** @returns codes of layers by names of tables; @throws Failure invalid_value */
export function readOtherTables(text: string): ReadonlyMap<string, string> {
  const read = tables.safeParse(jsonOf(text));
  if (!read.success)
    throw refuse('must be a JSON object of layers by tables, such as {"roads": "layer2", "parks": "layer3"}');
  const entries = Object.entries(read.data);
  if (entries.length > mostTables) throw refuse(`names at most ${mostTables} tables`);
  return new Map(entries);
}

const refuse = (problem: string) => refuseParameter("other_tables", problem);

/**
 * Whether they can go beside one another.
 * @param layerIds of all layers, the one that the file was sent to first
 * @throws Failure invalid_value
 */
export function requireApart(
  others: ReadonlyMap<string, string>,
  { table, isAsync, layerIds }: { table: string | undefined; isAsync: boolean; layerIds: readonly number[] },
): void {
  if (!isAsync || table === undefined || table === "") throw refuse("goes with async and table");
  if (others.has(table)) throw refuse(`has the table that is named already, "${table.slice(0, 100)}"`);
  if (new Set(layerIds).size < layerIds.length) throw refuse("gives a layer two tables");
}
