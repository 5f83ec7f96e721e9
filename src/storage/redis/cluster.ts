import type { Socket } from "node:net";
import {
  Cluster as ClusterConnection,
  type ClusterNode,
  type ClusterOptions,
  Command,
  type Redis as Connection,
} from "ioredis";
import { type Guard, probeName, type RedisClient, refused, type Stream, writing } from "./client.js";
import type { ServerOptions } from "./lasting.js";
import { togetherPrefix } from "./together-prefix.js";
import { RedisWatch } from "./watch.js";

export type ClusterArguments = [
  ClusterNode[],
  Omit<ClusterOptions, "redisOptions"> & { readonly redisOptions: ServerOptions },
];

/** To a cluster: each of its servers is watched by itself, as the others go on without it. */
export class GuardedCluster extends ClusterConnection implements RedisClient {
  /** By address: as many as there were servers since the start. */
  private readonly watches = new Map<string, RedisWatch>();
  /** How often the server of keys that are used together came or went. */
  private turns = 0;

  constructor(
    where: ClusterArguments,
    private readonly guard: Guard,
  ) {
    super(...where);
    this.on("ready", () => guard.state.set("", undefined));
    for (const event of ["+node", "-node"])
      this.on(event, (node: Connection) => {
        if (addressOf(node) === this.serverOfTogether()) this.turns++;
      });
    // What was wrong with the last node that was asked says more than that all were asked.
    this.on("error", (error: Error & { readonly lastNodeError?: Error | null }) =>
      guard.state.set("", "away", error.lastNodeError ?? error),
    );
    this.on("end", () => {
      for (const watch of this.watches.values()) watch.stop();
    });
  }

  get trouble(): string | undefined {
    return this.guard.state.textFor(this.status);
  }

  /** The part of a cluster that is the smaller one answers nothing. */
  readonly isBySentinel = false;

  get incarnation(): string {
    return `${this.turns} ${this.serverOfTogether()}`;
  }

  private serverOfTogether(): string {
    return this.serverOf(togetherPrefix(this, this.guard.prefix));
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
      socket: () => this.nodes().find((node) => addressOf(node) === server)?.stream as Socket | undefined,
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

const addressOf = ({ options }: Connection): string => `${options.host}:${options.port}`;

/** What of a key says which slot it is in. */
function hashTagOf(key: string): string {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open + 1);
  return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key;
}
