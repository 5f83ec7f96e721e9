import type { Config } from "../src/config.js";
import type { Log } from "../src/log.js";
import { Nodes } from "../src/serve/nodes.js";
import { takePort } from "../src/serve/port.js";
import { fetchOne } from "./fetch.js";

/** One node of the product in a process of its own, as `mapwright serve` runs it. */
export interface Server {
  /** Without a slash at its end. */
  readonly url: string;
  /** Its first process: the others are children of it. One that was killed is followed by another; 0 meanwhile. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** A first start may have data to load. */
const readyWithinMs = 180_000;

/** @throws Error when it does not become ready */
export async function startServer(config: Config, log: Log): Promise<Server> {
  const { address, port, release } = await takePort(config.host, config.port, new AbortController().signal);
  const nodes = new Nodes({ ...config, host: address, port, nodes: 1 }, log);
  const stop = async (drainMs: number) => {
    await nodes.stop(drainMs);
    await release();
  };
  await nodes.start();
  const url = `http://127.0.0.1:${port}`;
  try {
    await untilReady(url);
  } catch (error) {
    await stop(0);
    throw error;
  }
  return {
    url,
    get pid() {
      return nodes.pids()[0] ?? 0;
    },
    stop: () => stop(1_000),
  };
}

/** @throws Error when the server is not ready after a while */
export async function untilReady(url: string): Promise<void> {
  const until = Date.now() + readyWithinMs;
  for (;;) {
    try {
      await fetchOne(`${url}/health/ready`);
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((wait) => setTimeout(wait, 50));
    }
  }
}
