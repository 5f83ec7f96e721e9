import { renameSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { type Backend, type BackendOptions, Backends } from "./backends.js";
import {
  Answers,
  bothSet,
  extendedBefore,
  fatal,
  greeting,
  nothing,
  openings,
  query,
  queryAfter,
  refusal,
  SettingAnswer,
  sync,
  terminate,
} from "./messages.js";

/**
 * A PostgreSQL server in this process, which Mapnik finds in place of the real one while it loads layers.
 *
 * For each layer that it loads, Mapnik opens a connection, or takes an idle one, asks which columns the layer's statement
 * has, and closes the connection (4.2: issue 4520). A real one takes 10 to 20 ms, most of it the server's work for the login
 * and for a new process. Mapnik needs no answer, since its parameters and styles name all that it reads; so none is asked of
 * the database. A render that opens a connection meanwhile gets one to this server too, which hands its statements on.
 */

/** Longest statement, far above any that is made here. */
const maxMessageBytes = 64 * 1024 ** 2;

/** After this time a connection that the kernel has made is taken for sure. */
const acceptMs = 1_000;

export class LoadingServer {
  private readonly backends: Backends;
  private readonly sessions = new Set<Session>();
  private works = 0;
  private opened = 0;
  /** The listening socket; undefined = there is none. */
  private opening: Promise<Server> | undefined;

  constructor(
    private readonly path: string,
    private readonly options: BackendOptions,
  ) {
    this.backends = new Backends(options);
  }

  /** From now on all of Mapnik's connections come here: behind a pooler none of them can be a session. */
  async open(): Promise<void> {
    this.works++;
    this.opening ??= this.listen();
    await this.opening;
  }

  /** Runs `work` while Mapnik's new connections come here. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.works++;
    let server: Server | undefined;
    try {
      this.opening ??= this.listen();
      server = await this.opening;
      return await work();
    } finally {
      if (--this.works === 0) {
        this.opening = undefined;
        if (server) this.leave(server);
      }
    }
  }

  /** Connections of Mapnik to this server. */
  get connections(): number {
    return this.sessions.size;
  }

  /** Closes the connections to the database that nobody uses. */
  rest(): void {
    this.backends.closeIdle();
  }

  private async listen(): Promise<Server> {
    const server = createServer((socket) => {
      const session = new Session(socket, this.backends, this.options.setting);
      this.sessions.add(session);
      socket.once("close", () => this.sessions.delete(session));
    });
    // Closing a server removes the file that it was opened with, which must not be that of the next one.
    const own = `${this.path}.${++this.opened}`;
    rmSync(own, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(own, resolve);
    });
    renameSync(own, this.path);
    return server;
  }

  /** From now on Mapnik's new connections find the real server. Those that are being made are taken, and go on. */
  private leave(server: Server): void {
    rmSync(this.path, { force: true });
    // After a long pause of this thread timers come before connections, which are taken before what is set here.
    setTimeout(() => setImmediate(() => server.close()), acceptMs).unref();
  }
}

const settings = Buffer.from("SET DEFAULT_TRANSACTION_READ_ONLY");
const selectAll = Buffer.from("SELECT * FROM ");
const noRow = Buffer.from(" LIMIT 0\0");

/** One connection of Mapnik. */
class Session {
  private hasBegun = false;
  private rest: Buffer | undefined;
  private backend: Backend | undefined;
  /** Messages for the backend while that is waited for. */
  private held: Buffer[] | undefined;
  /** Statements that are not yet answered. */
  private unanswered = 0;
  private answers = new Answers();
  /** Behind a pooler: the answer to what sets the transaction. */
  private settingAnswer: SettingAnswer | undefined;

  constructor(
    private readonly socket: Socket,
    private readonly backends: Backends,
    private readonly setting: string | undefined,
  ) {
    socket.on("data", (chunk) => this.received(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => this.detach(false));
    socket.on("drain", () => this.backend?.socket.resume());
  }

  private received(chunk: Buffer): void {
    const input = this.rest ? Buffer.concat([this.rest, chunk]) : chunk;
    this.rest = undefined;
    let at = 0;
    /** Where messages for the database begin. */
    let forwarded: number | undefined;
    for (;;) {
      // The first message has no type.
      const head = this.hasBegun ? 1 : 0;
      if (input.length - at < head + 4) break;
      const length = input.readUInt32BE(at + head);
      if (length < 4 || length > maxMessageBytes) {
        this.end();
        return;
      }
      const next = at + head + length;
      if (input.length < next) break;
      const message = input.subarray(at, next);
      if (!this.hasBegun) this.opened(message);
      else if (message[0] === terminate) {
        this.end();
        return;
      } else if (!this.answered(message)) {
        forwarded ??= at;
        if (message[0] === query || message[0] === sync) this.unanswered++;
      }
      at = next;
    }
    if (forwarded !== undefined) this.forward(input.subarray(forwarded, at));
    if (at < input.length) this.rest = input.subarray(at);
  }

  private opened(message: Buffer): void {
    const code = message.length >= 8 ? message.readUInt32BE(4) : 0;
    if (code === openings.tls || code === openings.gss) this.socket.write(refusal);
    else if (code >>> 16 !== openings.version) this.end();
    else {
      this.hasBegun = true;
      this.socket.write(greeting);
    }
  }

  /** Answers what needs no database: the settings of the session, and which columns a statement has. */
  private answered(message: Buffer): boolean {
    if (message[0] !== query) return false;
    const text = message.subarray(5);
    if (text.subarray(0, settings.length).equals(settings)) this.socket.write(bothSet);
    else if (
      text.subarray(0, selectAll.length).equals(selectAll) &&
      text.subarray(-noRow.length).equals(noRow)
    )
      this.socket.write(nothing);
    else return false;
    return true;
  }

  private forward(messages: Buffer): void {
    if (this.backend) this.backend.socket.write(messages);
    else if (this.held) this.held.push(messages);
    else {
      this.held = [messages];
      this.backends.acquire().then(
        (backend) => this.attach(backend),
        (error: Error) => {
          this.socket.end(fatal(error.message));
        },
      );
    }
  }

  private attach(backend: Backend): void {
    if (this.socket.destroyed) {
      this.backends.release(backend, true);
      return;
    }
    // The connection may have been closed since it was released.
    if (backend.socket.destroyed) {
      this.end();
      return;
    }
    this.backend = backend;
    this.answers = new Answers();
    backend.socket.on("data", this.fromBackend);
    backend.socket.on("close", this.lost);
    const [first, ...others] = this.held ?? [];
    this.held = undefined;
    if (first) this.begin(backend, first);
    for (const messages of others) backend.socket.write(messages);
  }

  /** Each time that it takes a connection, a transaction begins. */
  private begin({ socket }: Backend, messages: Buffer): void {
    const { setting } = this;
    if (setting === undefined) {
      socket.write(messages);
      return;
    }
    this.settingAnswer = new SettingAnswer();
    if (messages[0] !== query) {
      socket.write(Buffer.concat([extendedBefore(setting), messages]));
      return;
    }
    const end = 1 + messages.readUInt32BE(1);
    socket.write(Buffer.concat([queryAfter(setting, messages.subarray(0, end)), messages.subarray(end)]));
  }

  private readonly fromBackend = (received: Buffer): void => {
    let chunk = received;
    const { settingAnswer } = this;
    if (settingAnswer && !settingAnswer.isComplete) {
      chunk = settingAnswer.read(received);
      if (settingAnswer.hasFailed) {
        // As if it were away: what it has is not what there is now.
        this.detach(false);
        this.socket.end(fatal("The pooler leads to another server, or to one that takes no writes."));
        return;
      }
      if (!settingAnswer.isComplete) return;
    }
    this.unanswered -= this.answers.read(chunk);
    if (!this.socket.write(chunk) && this.unanswered > 0) this.backend?.socket.pause();
    if (this.unanswered <= 0) this.detach(this.unanswered === 0 && this.answers.isIdle);
  };

  private readonly lost = (): void => {
    this.detach(false);
    this.end();
  };

  private detach(isUsable: boolean): void {
    const { backend } = this;
    if (!backend) return;
    this.backend = undefined;
    backend.socket.off("data", this.fromBackend);
    backend.socket.off("close", this.lost);
    // Without a listener it would stop reading, and not see its end.
    backend.socket.resume();
    this.backends.release(backend, isUsable);
  }

  private end(): void {
    this.socket.destroy();
  }
}
