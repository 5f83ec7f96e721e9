import type { Config } from "../src/config.js";
import type { Log } from "../src/log.js";
import { Nodes } from "../src/serve/nodes.js";
import { takePort } from "../src/serve/port.js";
import { fetchOne } from "./fetch.js";

/** One node of the product in a process of its own, as `mapwright serve` runs it. */
export interface Server {
  /** Without a slash at its end. */
  readonly url: string;
  /** The front process; its hosts are its children. */
  readonly pid: number;
  stop(): Promise<void>;
}

const readyWithinMs = 30_000;

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
  const until = Date.now() + readyWithinMs;
  for (;;) {
    try {
      await fetchOne(`${url}/health/ready`);
      break;
    } catch (error) {
      if (Date.now() > until) {
        await stop(0);
        throw error;
      }
      await new Promise((wait) => setTimeout(wait, 50));
    }
  }
  return { url, pid: nodes.pids()[0]!, stop: () => stop(1_000) };
}
