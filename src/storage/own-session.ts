import type pg from "pg";
import { ownSilence } from "./session-settings.js";

/** Whether a connection to the database is what this program needs: a session of its own, on a server that takes writes. */

export class UnfitSession extends Error {
  constructor(
    found: string,
    /** What to do about it. */
    readonly advice: string,
  ) {
    super(found);
    this.name = "UnfitSession";
  }
}

/** How often two connections are asked in turn whose sessions they have. */
const rounds = 10;

interface Session {
  /** Process of the server. */
  readonly pid: number;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  readonly silence: string;
}

/**
 * Behind a pooler that hands out sessions for a transaction, locks and notifications are those of somebody else, and tiles would
 * be stale without a word.
 * @param another opens a second connection the same way
 * @param isDirect the connection is to go past a pooler
 * @throws UnfitSession
 */
export async function requireOwnSession(
  client: pg.Client,
  another: () => Promise<pg.Client>,
  isDirect = false,
): Promise<void> {
  const session = await sessionOf(client);
  const where = isDirect ? "where MAPWRIGHT_DATABASE_DIRECT_URL leads, " : "";
  if (isPooled(client, session.pid) && (await isShared(client, another)))
    throw new UnfitSession(
      `${where}a pooler hands out the sessions of PostgreSQL for a transaction each, so that notifications and locks get lost`,
      isDirect ? adviceOnDirect : adviceOnPooler,
    );
  if (session.silence !== ownSilence)
    throw new UnfitSession(
      `${where}a pooler drops the settings that sessions ask for (options)`,
      isDirect ? adviceOnDirect : adviceOnPooler,
    );
  if (session.isStandby) throw standby();
  if (session.isReadOnly) throw readOnly();
}

const adviceOnDirect = "Let MAPWRIGHT_DATABASE_DIRECT_URL lead to PostgreSQL itself.";
/** What to do behind a pooler whose address is the only one. */
export const adviceOnPooler =
  "Give the address of PostgreSQL itself as MAPWRIGHT_DATABASE_DIRECT_URL, beside that of the pooler, or as DATABASE_URL.";

export const standby = (): UnfitSession =>
  new UnfitSession("the server is a standby, which takes no writes", "Let DATABASE_URL lead to the primary.");
export const readOnly = (setting = "DATABASE_URL"): UnfitSession =>
  new UnfitSession(
    "the server is read-only (default_transaction_read_only)",
    `Let ${setting} lead to the primary, or let that server take writes.`,
  );

async function sessionOf(client: pg.ClientBase): Promise<Session> {
  const { rows } = await client.query<Session>(
    `select pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby",
       current_setting('transaction_read_only') = 'on' as "isReadOnly",
       current_setting('idle_in_transaction_session_timeout') as silence`,
  );
  return rows[0]!;
}

/** PostgreSQL tells each new connection its process. A pooler tells a number of its own. */
const isPooled = (client: pg.Client, pid: number): boolean =>
  (client as unknown as { processID: number | null }).processID !== pid;

/** Whether two connections have one session in turn, or one has several. */
async function isShared(client: pg.Client, another: () => Promise<pg.Client>): Promise<boolean> {
  const other = await another();
  try {
    const seen = [new Set<number>(), new Set<number>()];
    for (let round = 0; round < rounds; round++)
      for (const [index, one] of [client, other].entries()) seen[index]!.add((await sessionOf(one)).pid);
    return new Set(seen.flatMap((pids) => [...pids])).size !== 2 || seen[0]!.size !== 1;
  } finally {
    await other.end();
  }
}
