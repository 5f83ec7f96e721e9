import { busy } from "../../src/errors.js";
import type { Database, ListeningConnection } from "../../src/storage/postgres.js";
import { Link, silentMs } from "./links.js";
import { boxOfCell } from "./places.js";
import type { Owner, Scheduler } from "./scheduler.js";

/**
 * A simulated PostgreSQL: the tables that are read to serve tiles, atomic transactions, and notifications in commit order.
 * It only supports the statements of the tile path. Messages of one connection arrive in order, with any delay; those of
 * different connections may be reordered.
 */

export interface LayerRow {
  readonly id: number;
  readonly mapId: number;
  readonly code: string;
  style: string;
  version: number;
  /** The change log. */
  log: { readonly version: number; readonly previous: number; readonly area: readonly number[] | null }[];
  /** The content: number of the last write by cell. */
  cells: Map<number, number>;
}
export interface MapRow {
  readonly id: number;
  readonly projectId: number;
  readonly code: string;
  published: boolean;
  revision: number;
}
export interface ProjectRow {
  readonly id: number;
  readonly code: string;
  readonly hidden: boolean;
  readonly base: boolean;
  revision: number;
  /** Layers that the public may not read. */
  closed: Set<number>;
}

/** The content of the database. */
export class Tables {
  projects = new Map<number, ProjectRow>();
  maps = new Map<number, MapRow>();
  layers = new Map<number, LayerRow>();
  nodes = new Map<string, { readonly backend: number; droppedAt: number | undefined }>();
  token = "";
  identity = "";

  copy(): Tables {
    const copy = new Tables();
    for (const [id, row] of this.projects) copy.projects.set(id, { ...row, closed: new Set(row.closed) });
    for (const [id, row] of this.maps) copy.maps.set(id, { ...row });
    for (const [id, row] of this.layers)
      copy.layers.set(id, { ...row, log: [...row.log], cells: new Map(row.cells) });
    for (const [id, row] of this.nodes) copy.nodes.set(id, { ...row });
    copy.token = this.token;
    copy.identity = this.identity;
    return copy;
  }
}

/** A layer with statistics, whose only object has the number of the last write as its value, or 0. */
export interface SimulatedStatistics {
  readonly project: string;
  readonly map: string;
  readonly layer: string;
  readonly layerId: number;
}
export const statistics: SimulatedStatistics = { project: "p", map: "v", layer: "l26", layerId: 26 };

/** Account of signed-in users, a viewer of every project. */
export const viewerAccount = 7;

interface Session {
  /** Process of the server that has the session: a pooler may give the connection another one. */
  backend: number;
  readonly owner: Owner;
  readonly link: Link;
  listening: boolean;
  /** What it is told goes to somebody else. */
  isDeaf: boolean;
  alive: boolean;
  /** The server that it is on takes no writes any more: another one does. */
  isStandby: boolean;
  /** When the last message to the client arrives. */
  arrivesAt: number;
  /** When the last statement arrives at the database. */
  statementArrivesAt: number;
  /** Rejects statements without an answer. */
  readonly waiting: Set<(error: Error) => void>;
  onNotification: (payload: string) => void;
  onLost: (error?: Error) => void;
}

/** A node's access to the database. */
export interface DatabaseAccess {
  readonly database: Database;
  /** Breaks all connections; connecting fails until `until`. */
  cut(until: number): void;
  /** Breaks the listening connections only; listening fails until `until`. */
  cutListener(until: number): void;
  /** Queries fail until `until`, while listening works. */
  cutQueries(until: number): void;
  /** Delays all messages on the open listening connections until `until`. */
  hang(until: number): void;
  /** Loses what is sent without a word; the open listening connection gets it late. */
  readonly link: Link;
  /** A pooler gives the listening connection the session of somebody else. */
  swapSession(): void;
  /** Whether a transaction can be committed, and its node hears of it. */
  readonly reaches: boolean;
}

/** The database that a connection was opened to. It may have been replaced since, and still be running. */
export interface Connected {
  readonly tables: Tables;
  alive: boolean;
}

type Statement = (values: readonly unknown[], session: Session | undefined) => object[];

/** Cache: index in `known` by the statement's text. */
const statements = new Map<string, number>();

/** A database that replaces another. */
export interface Replacement {
  readonly tables: Tables;
  /** It was restored from a copy of the files, so it has the same identity. */
  readonly asFiles: boolean;
}

export class SimulatedDatabase {
  private current: Connected = { tables: new Tables(), alive: true };
  /** Identity of the database (system identifier); the row of `epoch` may have another one's. */
  private identity = "i1";
  private identities = 1;
  private standbyToken = "";
  /** How often the database was replaced. */
  private incarnation = 0;
  private backends = 0;
  private transactions = 1_000;
  private tokens = 1;
  private readonly sessions = new Set<Session>();
  /** Broken connections whose process has not noticed yet. */
  private readonly losing = new Set<Session>();
  /** Sessions whose client is gone without a word, and until when the database does not know. */
  private readonly ghosts = new Map<number, number>();

  constructor(
    private readonly scheduler: Scheduler,
    /** Whether a notification is delivered twice. */
    private readonly isDuplicated: () => boolean,
  ) {
    this.tables.identity = this.identity;
    this.tables.token = "t1";
  }

  get tables(): Tables {
    return this.current.tables;
  }

  connect(): Connected {
    return this.current;
  }

  /**
   * Changes tables in one transaction, and sends the notifications that `work` returns.
   * @param node that runs the transaction
   * @returns the transaction's receipt
   */
  commit(work: (tables: Tables) => readonly string[], node?: string): string {
    const receipt = String(++this.transactions);
    const payloads = [...work(this.tables)];
    const last = payloads.length - 1;
    // As in the trigger: only notifications of layers have the mark.
    if (node !== undefined && payloads[last]?.startsWith("L")) payloads[last] += ` ${node}/${receipt}`;
    for (const session of this.sessions) {
      if (session.listening && !session.isDeaf && !session.isStandby)
        for (const payload of payloads) this.announce(session, payload);
    }
    return receipt;
  }

  /**
   * Replaces the database by a standby that lagged or by a backup. The nodes' connections are lost; those of render hosts
   * stay with the old primary.
   */
  replace({ tables, asFiles }: Replacement): void {
    this.incarnation++;
    if (!asFiles) {
      this.identity = `i${++this.identities}`;
    }
    this.current.alive = !asFiles;
    this.current = { tables, alive: true };
    for (const session of [...this.sessions]) this.lose(session);
  }

  /**
   * A standby takes the primary's place, with all that was answered. The old one takes no writes from then on, and goes on answering
   * those who are connected to it.
   */
  promote(): void {
    this.standbyToken = this.tables.token;
    this.identity = `i${++this.identities}`;
    this.incarnation++;
    for (const session of this.sessions) session.isStandby = true;
  }

  /** Access of a process to the database. */
  access(owner: Owner): DatabaseAccess {
    const { scheduler } = this;
    const link = new Link();
    let closedUntil = 0;
    let listenerClosedUntil = 0;
    let queriesClosedUntil = 0;
    const refused = () => scheduler.now < closedUntil;
    const query = (text: string, values: readonly unknown[] = []): Promise<object[]> =>
      new Promise((resolve, reject) => {
        const { incarnation } = this;
        const fail = () => reject(busy("The database cannot be reached just now."));
        const answerTo = (outcome: () => void) => scheduler.after(scheduler.latency(), outcome, owner);
        scheduler.after(
          scheduler.latency(),
          () => {
            const isAway = refused() || scheduler.now < queriesClosedUntil;
            if (isAway || this.incarnation !== incarnation) return void answerTo(fail);
            const failLate = () => void scheduler.after(silentMs.query, fail, owner);
            if (scheduler.now < link.lostToUntil) return failLate();
            const rows = this.run(text, values, undefined);
            // What looks at all objects takes long.
            if (scheduler.now < link.lostFromUntil) return failLate();
            const isLong = text.includes(`layers.l${statistics.layerId}`) && scheduler.random.chance(0.3);
            scheduler.after(
              (isLong ? 500 + scheduler.random.below(2_500) : 0) + scheduler.latency(),
              () => (this.incarnation === incarnation ? resolve(rows) : fail()),
              owner,
            );
          },
          undefined,
        );
      });
    const listening = () =>
      new Promise<ListeningConnection>((resolve, reject) => {
        scheduler.after(
          scheduler.latency(),
          () => {
            const isSilent = scheduler.now < Math.max(link.lostToUntil, link.lostFromUntil);
            if (isSilent)
              scheduler.after(silentMs.connection, () => reject(new Error("no connection in time")), owner);
            else if (refused() || scheduler.now < listenerClosedUntil)
              reject(new Error("connection refused"));
            else resolve(this.open(owner, link));
          },
          owner,
        );
      });
    const cutListener = (until: number) => {
      listenerClosedUntil = until;
      for (const session of [...this.sessions]) if (session.owner === owner) this.lose(session);
    };
    const cut = (until: number) => {
      closedUntil = until;
      cutListener(until);
    };
    const hang = (until: number) => {
      for (const session of this.sessions)
        if (session.owner === owner) session.arrivesAt = Math.max(session.arrivesAt, until);
    };
    const cutQueries = (until: number) => {
      queriesClosedUntil = until;
    };
    link.onCut = cut;
    const swapSession = () => {
      for (const session of this.sessions) {
        if (session.owner !== owner || !session.listening) continue;
        session.backend = ++this.backends;
        // Somebody else may listen, too, and is told what this node should be.
        session.isDeaf = true;
        session.listening = scheduler.random.chance(0.5);
      }
    };
    /** Of statistics, which may take too long. */
    const transaction = async <T>(work: (tx: object) => Promise<T>): Promise<T> => {
      const found = await work({ query, execute: async () => 0 });
      if (scheduler.random.chance(0.3)) throw busy("The statement takes too long.");
      return found;
    };
    // Whose use it is makes no difference here.
    const database = { query, transaction, listening, for: () => database } as unknown as Database;
    return {
      ...{ database, cut, cutListener, cutQueries, hang, link, swapSession },
      get reaches() {
        return link.isWhole(scheduler.now) && !refused() && scheduler.now >= queriesClosedUntil;
      },
    };
  }

  /** Whether nodes claimed more histories than there were. */
  get hasExcessHistories(): boolean {
    return this.tokens - 1 > this.incarnation;
  }

  /** Whether all messages have arrived and all broken connections are noticed. */
  get isQuiet(): boolean {
    return (
      this.losing.size === 0 && [...this.sessions].every(({ arrivesAt }) => arrivesAt <= this.scheduler.now)
    );
  }

  /** Removes the connections of a process that ended. */
  forget(owner: Owner): void {
    for (const sessions of [this.sessions, this.losing])
      for (const session of sessions) if (session.owner === owner) sessions.delete(session);
  }

  private open(owner: Owner, link: Link): ListeningConnection {
    const { scheduler } = this;
    const session: Session = {
      backend: ++this.backends,
      ...{ owner, link },
      listening: false,
      isDeaf: false,
      alive: true,
      isStandby: false,
      arrivesAt: 0,
      statementArrivesAt: 0,
      waiting: new Set(),
      onNotification: () => undefined,
      onLost: () => undefined,
    };
    this.sessions.add(session);
    return {
      query: (text, values = []) =>
        new Promise((resolve, reject) => {
          if (!session.alive) return reject(new Error("connection lost"));
          session.waiting.add(reject);
          // Statements of one connection run one after the other; what was lost is sent again.
          session.statementArrivesAt = Math.max(
            session.statementArrivesAt,
            scheduler.now + scheduler.latency(),
            link.lostToUntil,
          );
          scheduler.after(
            session.statementArrivesAt - scheduler.now,
            () => {
              if (!this.sessions.has(session)) return;
              const answer = (outcome: () => void) =>
                this.send(session, () => {
                  session.waiting.delete(reject);
                  outcome();
                });
              if (session.isStandby && /pg_notify|claim_epoch|delete from/.test(text))
                return answer(() => reject(new Error("cannot execute it in a read-only transaction")));
              const rows = this.run(text, values, session);
              answer(() => resolve({ rows }));
            },
            undefined,
          );
        }),
      onLost: (listener) => {
        session.onLost = listener;
      },
      onNotification: (listener) => {
        session.onNotification = listener;
      },
      end: async () => {
        if (scheduler.now < link.wholeAt) this.ghosts.set(session.backend, link.wholeAt);
        this.sessions.delete(session);
        end(session);
      },
    };
  }

  private announce(session: Session, payload: string): void {
    this.send(session, () => session.onNotification(payload));
    if (this.isDuplicated()) this.send(session, () => session.onNotification(payload));
  }

  /** Sends a message on the connection; it arrives after those sent before. */
  private send(session: Session, arrive: () => void): void {
    const { scheduler } = this;
    session.arrivesAt = Math.max(
      session.arrivesAt,
      scheduler.now + scheduler.latency(),
      session.link.lostFromUntil,
    );
    scheduler.after(
      session.arrivesAt - scheduler.now,
      () => {
        if (session.alive) arrive();
      },
      session.owner,
      session,
    );
  }

  /** Breaks a connection. Messages in flight are lost, unless they arrive before the process notices. */
  private lose(session: Session): void {
    this.sessions.delete(session);
    this.losing.add(session);
    this.scheduler.after(
      this.scheduler.latency(),
      () => {
        this.losing.delete(session);
        if (!session.alive) return;
        end(session);
        session.onLost(new Error("connection lost"));
      },
      session.owner,
    );
  }

  private run(text: string, values: readonly unknown[], session: Session | undefined): object[] {
    let index = statements.get(text);
    if (index === undefined) {
      index = this.known.findIndex(([pattern]) => text.includes(pattern));
      if (index < 0) throw new Error(`The simulated database does not know this statement: ${text}`);
      statements.set(text, index);
    }
    return this.known[index]![1](values, session);
  }

  private history(): { token: string; replaced: boolean } {
    return { token: this.tables.token, replaced: this.tables.identity !== this.identity };
  }

  /** The supported statements by a text that only they contain. */
  private readonly known: readonly (readonly [pattern: string, statement: Statement])[] = [
    [
      "json_build_array(known.id",
      ([ids, versions]) => [this.readLayers(ids as number[], versions as number[])],
    ],
    ["claim_epoch", ([diverged]) => [{ token: this.claim(String(diverged)) }]],
    ["left join project t", ([id]) => [this.revision(this.tables.projects.get(Number(id)))]],
    ["left join map t", ([id]) => [this.revision(this.tables.maps.get(Number(id)))]],
    ["from project p where p.code", ([code]) => this.project(String(code))],
    ["'map' as kind", ([project, code]) => this.map(Number(project), String(code))],
    ["set application_name", () => []],
    [
      "listen mapwright",
      (_values, session) => {
        session!.listening = true;
        return [];
      },
    ],
    ["with own as (insert into server_node", ([id], session) => this.join(String(id), session!)],
    [
      "with dropped as",
      ([id]) => {
        this.commit(({ nodes }) => {
          const node = nodes.get(String(id));
          if (node) node.droppedAt = this.scheduler.now;
          return [`D ${id}`];
        });
        return [];
      },
    ],
    [
      "with removed as",
      ([id]) => {
        this.commit(({ nodes }) => {
          nodes.delete(String(id));
          return [`Q ${id}`];
        });
        return [];
      },
    ],
    [
      "delete from server_node where id = $1 and dropped_at",
      ([id]) => {
        this.commit(({ nodes }) => {
          if (nodes.get(String(id))?.droppedAt !== undefined) nodes.delete(String(id));
          return [];
        });
        return [];
      },
    ],
    [
      "pg_notify('mapwright', $1)",
      ([payload]) => {
        this.commit(() => [String(payload)]);
        return [];
      },
    ],
    [
      "pg_listening_channels",
      (_values, session) => [
        // The standby has what it had when it was the primary.
        session?.isStandby
          ? { token: this.standbyToken, replaced: false, isReadOnly: true, listens: session.backend }
          : {
              ...this.history(),
              isReadOnly: false,
              listens: session?.listening ? session.backend : null,
            },
      ],
    ],
    ["_postgis_index_extent", ([ids]) => this.extents(ids as number[])],
    [`(select count(*) from layers.l${statistics.layerId}`, () => [{ n: this.measured() }]],
    ["select least(", () => [{ min: this.measured(), max: this.measured() }]],
  ];

  private measured(): number {
    return this.tables.layers.get(statistics.layerId)?.cells.get(0) ?? 0;
  }

  private extents(ids: readonly number[]): object[] {
    return ids.flatMap((id) => {
      const layer = this.tables.layers.get(id);
      if (!layer) return [];
      const boxes = [...layer.cells.keys()].map(boxOfCell);
      const box =
        boxes.length === 0
          ? null
          : [0, 1, 2, 3].map((at) => Math[at < 2 ? "min" : "max"](...boxes.map((one) => one[at]!)));
      return [{ id, token: this.tables.token, box }];
    });
  }

  private readLayers(ids: readonly number[], versions: readonly number[]): object {
    const layers = ids.map((id, index) => {
      const known = versions[index]!;
      const layer = this.tables.layers.get(id);
      const changes = layer?.log.filter(({ version }) => version > known) ?? [];
      const next = layer?.log.find(({ version }) => version >= known);
      return [
        id,
        layer?.version ?? null,
        changes.map(({ version, previous, area }) => [version, previous, area]),
        next ? [next.version, next.previous] : null,
      ];
    });
    return { ...this.history(), layers };
  }

  private claim(diverged: string): string {
    const { tables } = this;
    if (tables.identity !== this.identity || tables.token === diverged) {
      tables.identity = this.identity;
      tables.token = `t${++this.tokens}`;
    }
    return tables.token;
  }

  private revision(row: { readonly revision: number } | undefined): object {
    return { ...this.history(), revision: row?.revision ?? null };
  }

  private project(code: string): object[] {
    for (const row of this.tables.projects.values()) {
      if (row.code !== code) continue;
      const grants = [...row.closed].map((layerId) => ({
        mapId: this.tables.layers.get(layerId)?.mapId ?? 0,
        layerId,
        accountId: null,
        rights: 0,
      }));
      return [
        {
          id: row.id,
          code,
          name: "",
          languages: ["en"],
          base_map: { kind: row.base ? "builtin" : "none" },
          hidden: row.hidden,
          revision: row.revision,
          members: [{ account_id: viewerAccount, login: "viewer", role: "viewer" }],
          keys: [],
          grants,
          pictures: [],
          fonts: [],
        },
      ];
    }
    return [];
  }

  private map(projectId: number, code: string): object[] {
    for (const row of this.tables.maps.values()) {
      if (row.code !== code || row.projectId !== projectId) continue;
      const nodes = [...this.tables.layers.values()].filter(({ mapId }) => mapId === row.id);
      const { id, published, revision } = row;
      const data = { ...emptyMap, id, code, css_style: "", has_publication: published, revision };
      const isMeasured = nodes.some((node) => node.id === statistics.layerId);
      return [
        { kind: "map", data },
        ...nodes.map((node) => ({ kind: "node", data: nodeRow(node) })),
        ...(isMeasured ? [{ kind: "columns", data: [measuredColumn] }] : []),
      ];
    }
    return [];
  }

  private join(id: string, session: Session): object[] {
    const others: object[] = [];
    this.commit(({ nodes }) => {
      for (const [other, { backend }] of nodes) {
        const connected =
          [...this.sessions].some((open) => open.backend === backend && !open.isStandby) ||
          (this.ghosts.get(backend) ?? 0) > this.scheduler.now;
        if (other !== id) others.push({ id: other, connected });
      }
      nodes.set(id, { backend: session.backend, droppedAt: undefined });
      return [`N ${id}`];
    });
    const { backend } = session;
    return (others.length > 0 ? others : [{ id: null, connected: null }]).map((one) => ({ ...one, backend }));
  }
}

function end(session: Session): void {
  session.alive = false;
  for (const reject of session.waiting) reject(new Error("connection lost"));
  session.waiting.clear();
}

const emptyMap = {
  name: "",
  localized_name: false,
  names: {},
  group_layers: 0,
  sort: 1,
  json: {},
  comment: "",
  start_view: null,
  base_map: null,
  owner_id: null,
};

const measuredColumn = {
  ...{ id: 1, layer_id: statistics.layerId, parent_id: null, code: "size", name: "", type: "number" },
  ...{ localized_name: false, names: {}, localized_value: false, required: false, sort: 1, format: null },
};
/** Pies as large as their sum. */
const visualSettings = {
  type: 4,
  classesSettings: { sizeType: 2, columns: [{ id: measuredColumn.id, color: "#000000" }] },
  ...{ textSettings: {}, legendName: "", legendNames: [], showValues: true, showLegend: true },
};

const nodeRows = new Map<string, object>();

/** A layer's row of the table `node`, cached for all worlds. */
function nodeRow({ id, code, style }: LayerRow): object {
  const key = `${code} ${style}`;
  let row = nodeRows.get(key);
  if (!row) {
    row = { ...emptyNode, id, code, sort: id, css_style: style };
    if (id === statistics.layerId) row = { ...row, visual_settings: visualSettings };
    nodeRows.set(key, row);
  }
  return row;
}

const emptyNode = {
  type: "layer",
  parent_id: null,
  name: "",
  localized_name: false,
  names: {},
  selected: true,
  icon: "",
  json: {},
  render_type: 0,
  style_mode: 2,
  owner_id: null,
  source: null,
  visual_settings: null,
  visual_custom_settings: null,
  vector_settings: null,
  geometry_kind: "Polygon",
  generalizationLevels: [],
  crosses_antimeridian: false,
  source_id: null,
};
