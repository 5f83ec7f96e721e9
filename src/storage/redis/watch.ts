import type { Socket } from "node:net";
import type { Command } from "ioredis";
import { systemClock } from "../../clock.js";
import { isAnswer, type RedisTrouble, troubleOf } from "./state.js";

/**
 * Watches what one server of Redis answers, so that nobody waits for one that hangs. A server that owes answers and says nothing for
 * a moment is not asked for tiles any more, and after a while for nothing: commands fail at once, until a command that is
 * sent by itself is answered. Silence counts, not the time of a command: a server that has much to do answers others meanwhile,
 * and what is large arrives in parts.
 */

/** What can be done without Redis, such as looking for a tile, waits so long: ms. */
const briefMs = 100;
/**
 * What is refused without Redis, such as a request with a token, waits so long: ms. A server that writes its file, or has no core for
 * some tenths of a second, should sign nobody out.
 */
const patientMs = 500;
/** How often it is looked at whether the server has said anything: a clock at each command would cost more than the rest. */
const lookEveryMs = 20;
/** Between two attempts to find out whether all is well again. */
const probeEveryMs = 250;

export interface RedisWatchOptions {
  /** Sends a command that writes, past this watch. */
  readonly probe: () => Promise<unknown>;
  /** The connection, while there is one. */
  readonly socket: () => Socket | undefined;
  readonly changed: (trouble: RedisTrouble | undefined, error?: unknown) => void;
}

export class RedisWatch {
  /** Number of commands without an answer. */
  private owed = 0;
  /**
   * These commands, and some that have been answered since the last look: to take out each when it is answered would cost as
   * much as half of the command.
   */
  private brief: Command[] = [];
  private patient: Command[] = [];
  private silentSince = 0;
  /** Whether it has answered since it was looked at. */
  private hasAnswered = false;
  private moved: Moved = { read: 0, written: 0, isWaiting: false };
  /** Who is refused: nobody, who can do without Redis, everybody. */
  private refused: "none" | "brief" | "all" = "none";
  private trouble: RedisTrouble | undefined;
  private cancelLook: (() => void) | undefined;
  private cancelProbe: (() => void) | undefined;
  private isProbing = false;
  private hasStopped = false;

  constructor(private readonly options: RedisWatchOptions) {}

  refuses(isBrief: boolean): boolean {
    return this.refused === "all" || (isBrief && this.refused === "brief");
  }

  /** A command is being sent. */
  sent(command: Command, isBrief: boolean): void {
    this.owed++;
    (isBrief ? this.brief : this.patient).push(command);
    if (this.cancelLook === undefined) {
      this.silentSince = performance.now();
      this.lookSoon();
    }
    command.promise.then(
      () => this.settled(),
      (error: unknown) => this.settled(error),
    );
  }

  /** The server was found to be in a state in which it takes nothing. */
  note(trouble: RedisTrouble, error?: unknown): void {
    this.become(trouble, error);
    this.probeSoon();
  }

  /** Finds out at once whether all is well again. */
  probe(): void {
    if (this.refused === "none" && this.trouble === undefined) return;
    this.cancelProbe?.();
    this.cancelProbe = undefined;
    void this.ask();
  }

  stop(): void {
    this.hasStopped = true;
    this.cancelLook?.();
    this.cancelProbe?.();
  }

  private settled(error?: unknown): void {
    this.owed--;
    if (error instanceof NoAnswer) return;
    if (error !== undefined && !isAnswer(error)) {
      this.lost(error);
      return;
    }
    this.hasAnswered = true;
    if (error === undefined) return;
    const trouble = troubleOf(error);
    if (trouble !== undefined) this.note(trouble, error);
  }

  /** There is no connection. That of a cluster's server is made again only for a command, which waits for it. */
  private lost(error: unknown): void {
    this.refused = "all";
    if (this.trouble === undefined) this.become("away", error);
    this.probeSoon();
  }

  private lookSoon(): void {
    this.cancelLook = systemClock.after(lookEveryMs, () => void this.look());
  }

  private async look(): Promise<void> {
    if (this.isOwed && this.silentMs() >= briefMs) {
      // What has arrived while the event loop was held is read before it is called silence.
      await systemClock.turn();
      await systemClock.turn();
      const silentMs = this.silentMs();
      if (this.isOwed && silentMs >= briefMs) this.giveUp(silentMs >= patientMs);
    }
    this.cancelLook = undefined;
    this.brief = this.brief.filter(isWaiting);
    this.patient = this.patient.filter(isWaiting);
    if (this.isOwed && !this.hasStopped) this.lookSoon();
  }

  private silentMs(): number {
    const now = performance.now();
    const before = this.moved;
    this.moved = movedBy(this.options.socket());
    // What is sent to a server that hangs goes on to the buffers of its machine, unless these are full.
    const isMoving =
      this.moved.read !== before.read || (before.isWaiting && this.moved.written !== before.written);
    if (this.hasAnswered || isMoving) this.silentSince = now;
    this.hasAnswered = false;
    return now - this.silentSince;
  }

  /** Whether it is to be found out for how long the server says nothing. */
  private get isOwed(): boolean {
    return this.owed > 0 || this.refused === "brief";
  }

  private giveUp(all: boolean): void {
    if (this.refused !== "all") this.refused = all ? "all" : "brief";
    for (const command of [...this.brief, ...(all ? this.patient : [])])
      if (isWaiting(command)) command.reject(new NoAnswer());
    if (all) this.become("silent");
    void this.ask();
  }

  private probeSoon(): void {
    if (this.hasStopped || this.isProbing) return;
    this.cancelProbe ??= systemClock.after(probeEveryMs, () => {
      this.cancelProbe = undefined;
      void this.ask();
    });
  }

  private async ask(): Promise<void> {
    if (this.isProbing || this.hasStopped) return;
    this.isProbing = true;
    let error: unknown;
    try {
      await this.options.probe();
    } catch (failure) {
      error = failure;
    }
    this.isProbing = false;
    if (error === undefined || isAnswer(error)) {
      this.refused = "none";
      this.hasAnswered = true;
      this.become(troubleOf(error), error);
    }
    if (error !== undefined && (this.refused !== "none" || this.trouble !== undefined)) this.probeSoon();
  }

  private become(trouble: RedisTrouble | undefined, error?: unknown): void {
    if (trouble === this.trouble || this.hasStopped) return;
    this.trouble = trouble;
    this.options.changed(trouble, error);
  }
}

const isWaiting = ({ isSettled }: Command): boolean => !isSettled;

/** Why a command is refused, or given up. */
export class NoAnswer extends Error {
  constructor() {
    super("Redis does not answer");
  }
}

/** Bytes that have come and gone, and whether more of them wait for room to go. */
interface Moved {
  readonly read: number;
  readonly written: number;
  readonly isWaiting: boolean;
}

function movedBy(socket: Socket | undefined): Moved {
  if (!socket) return { read: 0, written: 0, isWaiting: false };
  const { bytesRead: read, bytesWritten, writableLength } = socket;
  return { read, written: bytesWritten - writableLength, isWaiting: writableLength > 0 };
}
