import { Command, type Redis as Connection, type RedisCommander } from "ioredis";
import type { RedisState } from "./state.js";
import { NoAnswer } from "./watch.js";

/**
 * A client of Redis whose commands fail at once while there is no connection or no answer, instead of waiting for it. The
 * caller decides what that means: for a cache a miss, for a session a refusal.
 */
export interface RedisClient extends RedisCommander {
  readonly status: string;
  /** Whether keys lie on several servers: those of one command or script then have to be in one slot. */
  readonly isCluster: boolean;
  /** Whether Sentinel may make a replica the primary: one that is cut off with this node from the others does not hear of it. */
  readonly isBySentinel: boolean;
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

export type Stream = Parameters<Connection["sendCommand"]>[1];

export interface Guard {
  readonly state: RedisState;
  /** Of the installation's keys. */
  readonly prefix: string;
}

/** Of a key that is written to find out whether all is well; it is gone after a second. */
export const probeName = "probe";

/** Refuses a command that would not be answered. */
export function refused(command: Command): unknown {
  command.reject(new NoAnswer());
  return command.promise;
}

export const writing = (key: string): Command =>
  new Command("set", [key, "1", "PX", "1000"], { replyEncoding: "utf8" });
