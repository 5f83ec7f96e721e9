import type { Log } from "../../log.js";

/** What is wrong with a Redis, as operators are told: in the log, by `/health/ready` and by `doctor`. */

const texts = {
  away: "cannot be reached",
  silent: "does not answer",
  replica:
    "is a read-only replica, which takes no sessions and no tiles: its address has to be that of the primary, or of Sentinel",
  full: "is full and takes nothing new: it needs more memory (maxmemory), or a policy that lets tiles go (volatile-lru)",
  unsaved: "takes nothing new, as it cannot write to its disk: its log says why",
  alone: "takes nothing new, as too few replicas follow it (min-replicas-to-write)",
  incomplete: "is a cluster that lacks some of its nodes",
  clusterNode:
    "is a node of a cluster, which has only some of the keys: its address has to begin with redis+cluster://",
  sentinel:
    "is a Sentinel, which keeps nothing: the address has to be redis+sentinel://host:port,host:port/NAME",
} as const;

/** In place of `replica` where nobody has written down which server is the primary. */
const unpromoted = "is a replica still, which takes no sessions and no tiles: a failover is in progress";

export type RedisTrouble = keyof typeof texts;

/** By the first word of an error that Redis answers. */
const byError: Readonly<Record<string, RedisTrouble>> = {
  READONLY: "replica",
  MASTERDOWN: "replica",
  OOM: "full",
  MISCONF: "unsaved",
  NOREPLICAS: "alone",
  CLUSTERDOWN: "incomplete",
  MOVED: "clusterNode",
};

/** What an answer tells of the server; undefined = nothing. */
export function troubleOf(error: unknown): RedisTrouble | undefined {
  const message = error instanceof Error ? error.message : "";
  // Redis 6 tells errors of scripts within another one.
  return byError[/^(?:ERR Error running script .*?-)?([A-Z]+)\b/.exec(message)?.[1] ?? ""];
}

/** Whether Redis has answered, if only by an error. */
export const isAnswer = (error: unknown): boolean => (error as Error | undefined)?.name === "ReplyError";

/** Both are the same to who reads the log: a connection to a server that hangs is given up after a while. */
const groupOf = (trouble: RedisTrouble): string => (trouble === "silent" ? "away" : trouble);

/** Keeps what is wrong with each server of a Redis, and logs each change once. */
export class RedisState {
  /** By server; "" = the connection as a whole. */
  private readonly troubles = new Map<string, RedisTrouble>();
  private said = "";

  constructor(
    private readonly name: string,
    private readonly log: Log,
    /** Whether Sentinel, or a cluster, leads to the primary. */
    private readonly findsPrimary = false,
  ) {}

  set(server: string, trouble: RedisTrouble | undefined, error?: unknown): void {
    if (trouble === undefined) this.troubles.delete(server);
    else this.troubles.set(server, trouble);
    const now = this.told.map(([at, one]) => `${at} ${groupOf(one)}`).join();
    if (now === this.said) return;
    this.said = now;
    const { text } = this;
    if (text === undefined) this.log.info(`${this.name} is back`);
    else if (trouble !== undefined) this.log.warn({ err: error }, text);
    else this.log.warn(text);
  }

  /** undefined = nothing is wrong. */
  get text(): string | undefined {
    const all = this.told.map(([at, one]) => this.saying(one, at));
    return all.length === 0 ? undefined : all.join("; ");
  }

  /** What there is to tell: while there is no connection, or a wrong one, nothing but that. */
  private get told(): readonly (readonly [place: string, trouble: RedisTrouble])[] {
    const whole = this.troubles.get("");
    const isSilent = this.troubles.get(onlyServer) === "silent";
    if (whole !== undefined) return [["", whole === "away" && isSilent ? "silent" : whole]];
    return [...this.troubles].map(([at, one]) => [at === onlyServer ? "" : at, one]);
  }

  /** The same, by the status of the client: it may be away before there was an error. */
  textFor(status: string): string | undefined {
    return this.text ?? (status === "ready" ? undefined : this.saying("away"));
  }

  private saying(trouble: RedisTrouble, place = ""): string {
    const text = trouble === "replica" && this.findsPrimary ? unpromoted : texts[trouble];
    return `${this.name}${place === "" ? "" : ` at ${place}`} ${text}`;
  }
}

/** Where there is no other, it needs no address. */
export const onlyServer = "*";
