import type { Queryable } from "../storage/postgres.js";
import { listenerName } from "./listener.js";

/**
 * The nodes that may answer from what they remember, as the table `server_node` has them. Each change is announced in the
 * transaction that makes it. All statements run on the listening connection.
 */

type Asked = Pick<Queryable, "query">;

export interface OtherNode {
  readonly id: string;
  /** False: its connection is gone, which it may not have noticed yet. */
  readonly connected: boolean;
}

/** A node that was given up this long ago, and has not announced itself since, is gone. */
const goneAfter = "10 s";

const others = `select id, exists (
    select from pg_stat_activity where pid = backend and application_name = '${listenerName}') as connected
  from server_node where id <> $1 and (dropped_at is null or dropped_at > now() - interval '${goneAfter}')`;

/** All nodes but that one. */
export const otherNodes = (asked: Asked, nodeId: string): Promise<OtherNode[]> =>
  asked.query<OtherNode>(others, [nodeId]);

/** Announces the node; the others at that moment. */
export async function joinNodes(asked: Asked, nodeId: string): Promise<OtherNode[]> {
  const found = await asked.query<OtherNode & { readonly told: unknown }>(
    `with own as (insert into server_node (id, backend) values ($1, pg_backend_pid())
         on conflict (id) do update set backend = excluded.backend, dropped_at = null),
       gone as (delete from server_node where dropped_at < now() - interval '${goneAfter}' and id <> $1),
       told as (select pg_notify('mapwright', 'N ' || $1) as told),
       other as (${others})
     select told.told, other.* from told left join other on true`,
    [nodeId],
  );
  return found.filter(({ id }) => id !== null);
}

/** Gives a node up that does not answer: it has to announce itself again. */
export async function dropNode(asked: Asked, nodeId: string): Promise<void> {
  await asked.query(
    `with given_up as (update server_node set dropped_at = now() where id = $1)
     select pg_notify('mapwright', 'D ' || $1)`,
    [nodeId],
  );
}

/** Forgets a node that was given up and has not announced itself since. */
export async function forgetNode(asked: Asked, nodeId: string): Promise<void> {
  await asked.query("delete from server_node where id = $1 and dropped_at is not null", [nodeId]);
}

/** A node that ends answers nothing any more. */
export async function leaveNodes(asked: Asked, nodeId: string): Promise<void> {
  await asked.query(
    "with gone as (delete from server_node where id = $1) select pg_notify('mapwright', 'Q ' || $1)",
    [nodeId],
  );
}

/** Announces something. */
export async function notify(asked: Asked, payload: string): Promise<void> {
  await asked.query("select pg_notify('mapwright', $1)", [payload]);
}
