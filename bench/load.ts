import { startChild } from "./child.js";
import { ownCpuSeconds } from "./cpu.js";
import { type Done, type Throughput, throughput } from "./throughput.js";

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

/**
 * Loads a server for a while.
 * @param pid process whose CPU time is counted. Its hosts' is not: they take no part in what is loaded here, but tidy
 *   up their memory seconds after they last drew.
 * @throws Error when an answer fails or has another status
 */
export function load(pid: number, request: LoadRequest): Promise<Throughput> {
  return loadCounting(() => ownCpuSeconds(pid), request);
}

/**
 * The same where the CPU time of more than one process counts.
 * @param cpu CPU seconds so far
 */
export async function loadCounting(cpu: () => number, request: LoadRequest): Promise<Throughput> {
  const generator = startChild<LoadRequest, Done>("load-process.js");
  try {
    return await throughput(cpu, () => generator.ask(request));
  } finally {
    await generator.stop();
  }
}
