import {
  Cluster as ClusterConnection,
  type ClusterNode,
  type ClusterOptions,
  Command,
  Redis as Connection,
  type RedisCommander,
  type RedisOptions,
} from "ioredis";
import { isAnswer, onlyServer, type RedisState, type RedisTrouble } from "./state.js";
import { togetherPrefix } from "./together-prefix.js";
import { RedisWatch } from "./watch.js";

/**
 * A client of Redis whose commands fail at once while there is no connection or no answer, instead of waiting for it. The
 * caller decides what that means: for a cache a miss, for a session a refusal.
 */
export interface RedisClient extends RedisCommander {
  readonly status: string;
  /** Whether keys lie on several servers: those of one command or script then have to be in one slot. */
  readonly isCluster: boolean;
  /** What is wrong with it, as a sentence; undefined = nothing. */
  readonly trouble: string | undefined;
  /** Another text whenever the client has come to another server, which may lack the last writes of the one before. */
  readonly incarnation: string;
  /** @throws Error when there is no connection. By Sentinel it waits for one. */
  connect(): Promise<void>;
  disconnect(): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  pipeline: Connection["pipeline"];
  /** Asks each server whether it is there: `trouble` is current then. @throws Error when one is not there */
  ask(): Promise<void>;
  /** A connection of its own, to hear channels; undefined in a cluster. It connects when it is told to. */
  listener(): Connection | undefined;
  /** The servers that take writes. */
  primaries(): readonly Connection[];
  /** Which of them has the key. */
  serverOf(key: string): string;
  /** Sends a command of somebody who can do without Redis. */
  sendBriefly(command: Command, stream?: Stream, node?: unknown): unknown;
}

type Stream = Parameters<Connection["sendCommand"]>[1];

export interface Guard {
  readonly state: RedisState;
  /** Of the installation's keys. */
  readonly prefix: string;
}

/** Of a key that is written to find out whether all is well; it is gone after a second. */
const probeName = "probe";

/** Without what would change the types of answers. */
export type ServerOptions = Omit<RedisOptions, "replyMapping">;

/** To one server, also to that which Sentinel says is the primary. */
export class GuardedServer extends Connection implements RedisClient {
  private readonly ownWatch: RedisWatch;
  private runId: string | undefined;
  /** Connections that were made, and the first one to this server. */
  private made = 0;
  private firstOfServer = 0;

  /** @param where URL or path of a socket, if there is one, and the options */
  constructor(
    where: readonly [string, ServerOptions] | readonly [ServerOptions],
    private readonly guard: Guard,
  ) {
    super(...(where as [string, ServerOptions]));
    this.ownWatch = new RedisWatch({
      probe: () => this.unwatched(writing(`${guard.prefix}${probeName}`)),
      changed: (trouble, error) => guard.state.set(onlyServer, trouble, error),
    });
    this.on("ready", () => void this.look());
    this.on("error", (error: Error) => guard.state.set("", "away", error));
    this.on("end", () => this.ownWatch.stop());
  }

  get trouble(): string | undefined {
    return this.guard.state.textFor(this.status);
  }

  get incarnation(): string {
    return String(this.firstOfServer);
  }

  override sendCommand(command: Command, stream?: Stream): unknown {
    return this.send(command, stream, false);
  }

  sendBriefly(command: Command, stream?: Stream): unknown {
    return this.send(command, stream, true);
  }

  async ask(): Promise<void> {
    try {
      await this.set(`${this.guard.prefix}${probeName}`, "1", "PX", 1_000);
    } catch (error) {
      if (!isAnswer(error)) throw error;
    }
  }

  listener(): Connection {
    const { replyMapping: _, ...options } = this.options;
    return new Connection({ ...options, enableOfflineQueue: true });
  }

  primaries(): readonly Connection[] {
    return [this];
  }

  serverOf(): string {
    return onlyServer;
  }

  private send(command: Command, stream: Stream, isBrief: boolean): unknown {
    // Until there is a connection, all fails but what it is made by, which has the connection's deadline as the look at it has.
    if (this.status !== "ready" || command.name === "info") return super.sendCommand(command, stream);
    if (this.ownWatch.refuses(isBrief)) return refused(command);
    this.ownWatch.sent(command, isBrief);
    return super.sendCommand(command, stream);
  }

  private unwatched(command: Command): Promise<unknown> {
    super.sendCommand(command);
    return command.promise;
  }

  /** Looks at what the address leads to. */
  private async look(): Promise<void> {
    const before = this.firstOfServer;
    // Until it is known that it is still the same.
    this.firstOfServer = ++this.made;
    let text = "";
    try {
      text = await this.info();
    } catch (error) {
      // Who may not ask that is not told.
      if (!isAnswer(error)) return;
    }
    const info = infoOf(text);
    if (info.run_id !== undefined && info.run_id === this.runId) this.firstOfServer = before;
    this.runId = info.run_id;
    this.guard.state.set("", misplaced(info));
    if (isReadOnly(info)) this.ownWatch.note("replica");
    this.ownWatch.probe();
  }
}

export type ClusterArguments = [
  ClusterNode[],
  Omit<ClusterOptions, "redisOptions"> & { readonly redisOptions: ServerOptions },
];

/** To a cluster: each of its servers is watched by itself, as the others go on without it. */
export class GuardedCluster extends ClusterConnection implements RedisClient {
  /** By address: as many as there were servers since the start. */
  private readonly watches = new Map<string, RedisWatch>();
  /** How often a server came or went. */
  private turns = 0;

  constructor(
    where: ClusterArguments,
    private readonly guard: Guard,
  ) {
    super(...where);
    this.on("ready", () => guard.state.set("", undefined));
    for (const event of ["ready", "+node", "-node"])
      this.on(event, () => {
        this.turns++;
      });
    this.on("error", (error: Error) => guard.state.set("", "away", error));
    this.on("end", () => {
      for (const watch of this.watches.values()) watch.stop();
    });
  }

  get trouble(): string | undefined {
    return this.guard.state.textFor(this.status);
  }

  get incarnation(): string {
    return `${this.turns} ${this.serverOf(togetherPrefix(this, this.guard.prefix))}`;
  }

  override sendCommand(command: Command, stream?: Stream, node?: unknown): unknown {
    return this.send(command, stream, node, false);
  }

  sendBriefly(command: Command, stream?: Stream, node?: unknown): unknown {
    return this.send(command, stream, node, true);
  }

  async ask(): Promise<void> {
    const primaries = this.nodes("master");
    if (primaries.length === 0) throw new Error("none of the cluster answers");
    await Promise.all(primaries.map((node) => node.ping()));
  }

  listener(): undefined {
    return undefined;
  }

  primaries(): readonly Connection[] {
    return this.nodes("master");
  }

  serverOf(key: string): string {
    return this.slots[new Command("get", [key]).getSlot()]?.[0] ?? "";
  }

  private send(command: Command, stream: Stream, node: unknown, isBrief: boolean): unknown {
    const [key] = command.getKeys();
    const server = key === undefined ? undefined : this.slots[command.getSlot()]?.[0];
    // What has no key goes to any server.
    if (this.status !== "ready" || key === undefined || server === undefined)
      return super.sendCommand(command, stream, node);
    const watch = this.watchOf(server, String(key));
    if (watch.refuses(isBrief)) return refused(command);
    watch.sent(command, isBrief);
    return super.sendCommand(command, stream, node);
  }

  private watchOf(server: string, key: string): RedisWatch {
    const known = this.watches.get(server);
    if (known) return known;
    // In the slot of the key, so that the server is asked that has it by then.
    const probeKey = `${this.guard.prefix}${probeName}{${hashTagOf(key)}}`;
    const watch = new RedisWatch({
      probe: () => this.unwatched(writing(probeKey)),
      changed: (trouble, error) => this.guard.state.set(server, trouble, error),
    });
    this.watches.set(server, watch);
    return watch;
  }

  private unwatched(command: Command): Promise<unknown> {
    super.sendCommand(command);
    return command.promise;
  }
}

function refused(command: Command): unknown {
  command.reject(new Error("Redis does not answer"));
  return command.promise;
}

const writing = (key: string): Command =>
  new Command("set", [key, "1", "PX", "1000"], { replyEncoding: "utf8" });

/** What of a key says which slot it is in. */
function hashTagOf(key: string): string {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open + 1);
  return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key;
}

type Info = Readonly<Record<string, string | undefined>>;

/** The lines of an answer to INFO. */
export const infoOf = (text: string): Info =>
  Object.fromEntries([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name, value]) => [name, value]));

/** What an address of one server should not lead to. */
export const misplaced = ({ redis_mode: mode }: Info): RedisTrouble | undefined =>
  mode === "cluster" ? "clusterNode" : mode === "sentinel" ? "sentinel" : undefined;

export const isReadOnly = ({ role, slave_read_only: readOnly }: Info): boolean =>
  role === "slave" && readOnly !== "0";
