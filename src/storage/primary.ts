import pg from "pg";
import { type DatabaseHost, hostsOf, withHosts } from "../database-hosts.js";
import { connectionOf, destroy } from "./heartbeat.js";
import { readOnly, standby, UnfitSession } from "./own-session.js";
import { keptAlive, sessionOptions } from "./session-settings.js";

/**
 * Finds the server that takes writes among those of an address, as `target_session_attrs=read-write` of libpq does, but asks
 * all at once, and remembers which it was.
 */

/** Longest wait for what a server says of itself: its connection, and the answer. */
const answerMs = 2_000;
/** How long others are waited for when one has said that it takes writes: after a failover an old primary may say so, too. */
const othersMs = 250;
/** Between two searches that find none. */
const againMs = 250;

/** What a server says of itself. */
export interface HostState {
  readonly host: DatabaseHost;
  /** `unreachable` = it did not answer, or refuses connections. */
  readonly is: "primary" | "standby" | "read-only" | "unreachable";
  readonly error?: Error;
  readonly version: string;
  /** Whether its commits wait for a standby. */
  readonly isSynchronous: boolean;
  /** Of two servers that take writes, that with the later one was promoted last. */
  readonly timeline: string;
  /** Up to where of the log it has written, or shows as a standby; in bytes. */
  readonly position: bigint;
}

const unknown = { version: "", isSynchronous: false, timeline: "", position: 0n };

/** Asks a server what it is. Never rejects. @param isPooled it is a pooler, which may refuse settings of sessions */
export async function askHost(host: DatabaseHost, isPooled = false): Promise<HostState> {
  const client = new pg.Client({
    connectionString: host.url,
    ...(!isPooled && { options: sessionOptions({}) }),
    application_name: "mapwright",
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
    ...keptAlive,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<
      Omit<HostState, "host" | "error" | "position"> & { position: string }
    >(
      `select case when pg_is_in_recovery() then 'standby'
           when current_setting('transaction_read_only') = 'on' then 'read-only' else 'primary' end as "is",
         current_setting('server_version') as version,
         current_setting('synchronous_standby_names') <> ''
           and current_setting('synchronous_commit') not in ('off', 'local') as "isSynchronous",
         case when pg_is_in_recovery() then '' else left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end as timeline,
         coalesce(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end - '0/0', 0)::text
           as position`,
    );
    const [{ position, ...state }] = rows as [(typeof rows)[number]];
    return { host, ...state, position: BigInt(position) };
  } catch (error) {
    destroy(client);
    return { ...unknown, host, is: "unreachable", error: error as Error };
  } finally {
    void client.end().catch(() => undefined);
  }
}

export interface PrimaryOptions {
  /** Another server than before takes writes. */
  readonly onMoved?: (to: DatabaseHost, by: Primary) => void;
  /** A server that took writes answers nobody, and none has taken its place. */
  readonly onGone?: (host: DatabaseHost) => void;
  /** The servers are poolers. */
  readonly isPooled?: boolean;
}

export class Primary {
  readonly hosts: readonly DatabaseHost[];
  private known: DatabaseHost | undefined;
  /** What was known last. */
  private last: DatabaseHost;
  private hasFound = false;
  private searching: Promise<void> | undefined;
  /** Why the last search has found none. */
  private failure: Error | undefined;
  private mayNot = false;

  constructor(
    private readonly address: string,
    private readonly options: PrimaryOptions = {},
  ) {
    this.hosts = hostsOf(address);
    this.last = this.hosts[0]!;
    // There is nothing to look for.
    if (this.hosts.length === 1) this.known = this.last;
  }

  /** The server that takes writes, or did when it was looked for last. */
  get latest(): DatabaseHost {
    return this.known ?? this.last;
  }

  /** The address, with that server before the others: libpq tries them in their order. */
  get ordered(): string {
    const { hosts, latest, address } = this;
    return hosts.length === 1 || latest === hosts[0]
      ? address
      : withHosts(address, [latest, ...hosts.filter((host) => host !== latest)]);
  }

  /** Connects to the server that takes writes; if that fails, looks for another one once. @throws what `open` throws; UnfitSession */
  async connect<T>(open: (host: DatabaseHost) => Promise<T>): Promise<T> {
    const first = this.known ?? (await this.find());
    try {
      return await open(first);
    } catch (error) {
      if (this.hosts.length === 1 || !mayBeGone(error)) throw error;
      this.lose(first);
      return open(await this.find());
    }
  }

  /** That server may take no writes any more. */
  lose(host: DatabaseHost): void {
    if (this.known !== host || this.hosts.length === 1) return;
    this.known = this.failure = undefined;
  }

  /** @throws UnfitSession when there is none. Those who ask while it is looked for again hear that at once. */
  private async find(): Promise<DatabaseHost> {
    if (!this.searching && !this.mayNot)
      this.searching = this.search().finally(() => {
        this.searching = undefined;
      });
    if (!this.failure) await this.searching;
    if (this.known) return this.known;
    throw this.failure ?? new UnfitSession("the primary was lost again", advice);
  }

  private async search(): Promise<void> {
    const states = await askAll(this.hosts, this.options.isPooled);
    const found = newest(states);
    if (found) {
      const isOther = this.hasFound && found !== this.last;
      this.known = this.last = found;
      this.hasFound = true;
      this.failure = undefined;
      if (isOther) this.options.onMoved?.(found, this);
      return;
    }
    this.failure = noPrimary(states);
    const before = this.hasFound ? states.find(({ host }) => host === this.last) : undefined;
    if (before?.is === "unreachable" && !(before.error instanceof pg.DatabaseError))
      this.options.onGone?.(this.last);
    this.mayNot = true;
    setTimeout(() => {
      this.mayNot = false;
    }, againMs).unref();
  }
}

/** Whether a connection that could not be opened may mean that its server takes no writes any more. */
const mayBeGone = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) || goingCodes.has(error.code ?? "");
/** admin_shutdown, crash_shutdown, cannot_connect_now */
const goingCodes: ReadonlySet<string> = new Set(["57P01", "57P02", "57P03"]);

/** What the servers say, until one takes writes and the others had some time, too. */
function askAll(hosts: readonly DatabaseHost[], isPooled = false): Promise<readonly HostState[]> {
  const states: HostState[] = [];
  let timer: NodeJS.Timeout | undefined;
  return new Promise<readonly HostState[]>((resolve) => {
    for (const host of hosts)
      void askHost(host, isPooled).then((state) => {
        states.push(state);
        if (states.length === hosts.length) resolve(states);
        else if (state.is === "primary") timer ??= setTimeout(() => resolve([...states]), othersMs);
      });
  }).finally(() => clearTimeout(timer));
}

const newest = (states: readonly HostState[]): DatabaseHost | undefined =>
  states
    .filter(({ is }) => is === "primary")
    .sort((one, other) => (one.timeline < other.timeline ? 1 : one.timeline > other.timeline ? -1 : 0))[0]
    ?.host;

const advice = "Promote a standby, or start the primary.";

function noPrimary(states: readonly HostState[]): UnfitSession {
  const list = states
    .map(({ host, is, error }) => `${host.name}: ${error ? reasonOf(error) : is}`)
    .join("; ");
  const failure = new UnfitSession(`no server of DATABASE_URL takes writes (${list})`, advice);
  failure.cause = states.find(({ error }) => error instanceof pg.DatabaseError)?.error;
  return failure;
}

const reasonOf = (error: Error): string => error.message || String((error as { code?: unknown }).code);

/** What the server has reported of each session's settings, if it reports them. */
const reports = new WeakMap<pg.ClientBase, Map<string, string>>();

/** To be called before the client connects. */
export function followReports(client: pg.ClientBase): void {
  const known = new Map<string, string>();
  reports.set(client, known);
  interface Report {
    readonly parameterName: string;
    readonly parameterValue: string;
  }
  connectionOf(client).on("parameterStatus", ({ parameterName, parameterValue }: Report) => {
    if (telling.has(parameterName)) known.set(parameterName, parameterValue);
  });
}

/** Reported at the start of a session, and whenever they change. */
const telling: ReadonlySet<string> = new Set(["in_hot_standby", "default_transaction_read_only"]);

/** Why the session takes no writes, as far as the server has reported it. */
export function refusalOf(client: pg.ClientBase): UnfitSession | undefined {
  if (isStandby(client)) return standby();
  return reports.get(client)?.get("default_transaction_read_only") === "on" ? readOnly() : undefined;
}

/** Whether the session is one of a standby, as far as the server has reported it. */
export const isStandby = (client: pg.ClientBase): boolean =>
  reports.get(client)?.get("in_hot_standby") === "on";
