import { startChild } from "./child.js";
import { ownCpuSeconds } from "./cpu.js";
import type { Round } from "./rounds.js";

/** Requests over a number of connections, as many as the server answers. */

export interface LoadRequest {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** The status that every answer must have. */
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Asked for in turn; absent: the address itself. */
  readonly paths?: readonly string[];
}
export interface Load {
  readonly requests: number;
  readonly seconds: number;
}

/**
 * Loads a server for a while.
 * @param pid process whose CPU time is counted. Its hosts' is not: they take no part in what is loaded here, but tidy
 *   up their memory seconds after they last drew.
 * @throws Error when an answer fails or has another status
 */
export async function load(pid: number, request: LoadRequest): Promise<Round> {
  const generator = startChild<LoadRequest, Load>("load-process.js");
  try {
    const before = ownCpuSeconds(pid);
    const { requests, seconds } = await generator.ask(request);
    return { perSecond: requests / seconds, perCpuSecond: requests / (ownCpuSeconds(pid) - before) };
  } finally {
    await generator.stop();
  }
}
