import type { Queryable } from "../storage/postgres.js";
import { listenerName } from "./listener.js";

/**
 * The nodes that may answer from their caches, in the table `server_node`. Each change of it is notified in the same
 * transaction. All statements run on the listening connection.
 */

type Connection = Pick<Queryable, "query">;

export interface OtherNode {
  readonly id: string;
  /** Whether its listening connection is open; if not, the node may not have noticed yet. */
  readonly connected: boolean;
}

/** Also those that were dropped: who dropped them may have gone before it could leave word of what they have missed. */
const others = `select id, exists (
    select from pg_stat_activity where pid = backend and application_name = '${listenerName}') as connected
  from server_node where id <> $1`;

/** All nodes except this one. */
export const otherNodes = (connection: Connection, nodeId: string): Promise<OtherNode[]> =>
  connection.query<OtherNode>(others, [nodeId]);

export interface Registered {
  /** The other nodes at that time. */
  readonly others: readonly OtherNode[];
  /** Process of the server whose session this node is registered with. */
  readonly backend: number;
}

/** Registers this node and announces it. */
export async function registerNode(connection: Connection, nodeId: string): Promise<Registered> {
  const found = await connection.query<OtherNode & { readonly backend: number }>(
    `with own as (insert into server_node (id, backend) values ($1, pg_backend_pid())
         on conflict (id) do update set backend = excluded.backend, dropped_at = null
         returning backend),
       notice as (select pg_notify('mapwright', 'N ' || $1) as notified),
       other as (${others})
     select own.backend, notice.notified, other.* from own, notice left join other on true`,
    [nodeId],
  );
  return { others: found.filter(({ id }) => id !== null), backend: found[0]!.backend };
}

/** Drops a node that does not answer: it has to register again before it answers from its caches. */
export async function dropNode(connection: Connection, nodeId: string): Promise<void> {
  await connection.query(
    `with dropped as (update server_node set dropped_at = now() where id = $1)
     select pg_notify('mapwright', 'D ' || $1)`,
    [nodeId],
  );
}

/** Deletes a node that was dropped and has not registered again. */
export async function deleteDroppedNode(connection: Connection, nodeId: string): Promise<void> {
  await connection.query("delete from server_node where id = $1 and dropped_at is not null", [nodeId]);
}

/** Removes a node that no longer answers requests. */
export async function unregisterNode(connection: Connection, nodeId: string): Promise<void> {
  await connection.query(
    "with removed as (delete from server_node where id = $1) select pg_notify('mapwright', 'Q ' || $1)",
    [nodeId],
  );
}

export async function notify(connection: Connection, payload: string): Promise<void> {
  await connection.query("select pg_notify('mapwright', $1)", [payload]);
}
