import type { Socket } from "node:net";
import type { Command, Redis as Connection } from "ioredis";
import { type Guard, probeName, type RedisClient, refused, type Stream, writing } from "./client.js";
import { infoOf, type RedisInfo } from "./info.js";
import { LastingConnection, type ServerPlace } from "./lasting.js";
import { isAnswer, onlyServer, type RedisTrouble } from "./state.js";
import { RedisWatch } from "./watch.js";

/** To one server, also to that which Sentinel says is the primary. */
export class GuardedServer extends LastingConnection implements RedisClient {
  private readonly ownWatch: RedisWatch;
  private runId: string | undefined;
  /** Connections that were made, and the first one to this server. */
  private made = 0;
  private firstOfServer = 0;

  constructor(
    where: ServerPlace,
    private readonly guard: Guard,
  ) {
    super(where);
    this.ownWatch = new RedisWatch({
      socket: () => this.stream as Socket | undefined,
      probe: () => this.unwatched(writing(`${guard.prefix}${probeName}`)),
      changed: (trouble, error) =>
        guard.state.set(onlyServer, trouble === "incomplete" ? "clusterNode" : trouble, error),
    });
    this.on("ready", () => void this.look());
    this.on("error", (error: Error) => guard.state.set("", "away", error));
  }

  get trouble(): string | undefined {
    return this.guard.state.textFor(this.status);
  }

  get isBySentinel(): boolean {
    return (this.options.sentinels ?? []).length > 0;
  }

  get incarnation(): string {
    return String(this.firstOfServer);
  }

  override sendCommand(command: Command, stream?: Stream): unknown {
    return this.send(command, stream, false);
  }

  protected override left(): void {
    this.ownWatch.stop();
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
    // Who hears nothing from a former primary is told through the database.
    return new LastingConnection([{ ...options, enableOfflineQueue: true, failoverDetector: false }]);
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

/** What an address of one server should not lead to. */
const misplaced = ({ redis_mode: mode }: RedisInfo): RedisTrouble | undefined =>
  mode === "cluster" ? "clusterNode" : mode === "sentinel" ? "sentinel" : undefined;

const isReadOnly = ({ role, slave_read_only: readOnly }: RedisInfo): boolean =>
  role === "slave" && readOnly !== "0";
