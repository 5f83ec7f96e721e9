import type { CdnState, Mark } from "../changes/notification.js";
import type { Database } from "../storage/postgres.js";
import { batches } from "./purge-service.js";
import type { Changed } from "./state.js";

/** What the node that tells the CDN says to all nodes, by notifications of PostgreSQL. */

/** Characters of a notification; PostgreSQL takes 8,000. */
const mostCharacters = 7_000;

type Connection = Pick<Database, "query">;

/** Tells all nodes what the CDN was told. */
export async function announce(db: Connection, changed: readonly Changed[]): Promise<void> {
  const told = changed.flatMap(({ kind, id, version }) =>
    kind === "project" || version === null ? [] : [`${kind === "layer" ? "l" : "m"}${id}:${version}`],
  );
  await notify(db, "E", told);
}

/** Tells nodes of their marks. */
export async function acknowledge(db: Connection, state: CdnState, marks: readonly Mark[]): Promise<void> {
  const byNode = new Map<string, string[]>();
  for (const { node, receipt } of marks) {
    const receipts = byNode.get(node);
    if (receipts) receipts.push(receipt);
    else byNode.set(node, [receipt]);
  }
  for (const [node, receipts] of byNode) await notify(db, `T ${node} ${state}`, receipts);
}

/** Sends a list to all nodes, in as many notifications as it takes. */
async function notify(db: Connection, head: string, list: readonly string[]): Promise<void> {
  if (list.length === 0) return;
  const texts = batches(list, { most: Number.POSITIVE_INFINITY, characters: mostCharacters });
  await db.query("select pg_notify('mapwright', $1 || ' ' || one) from unnest($2::text[]) one", [
    head,
    texts.map((text) => text.join(" ")),
  ]);
}
