import { Agent } from "node:http";
import { fetchOne } from "../fetch.js";

/** Another user of the server, who asks for something all the time and notes how long answers take. */

export interface Latencies {
  readonly requests: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
}

export class Neighbour {
  private times: number[] = [];
  private failed = 0;
  private isStopped = false;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  private readonly running: Promise<void>;

  /** @param next the address to ask for next */
  constructor(
    private readonly next: () => string,
    private readonly pauseMs: number,
  ) {
    this.running = this.run();
  }

  /** What was noted since the last call. */
  take(): Latencies {
    const times = this.times.sort((one, other) => one - other);
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
    const noted = {
      requests: times.length,
      failed: this.failed,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      worstMs: times.at(-1) ?? 0,
    };
    this.times = [];
    this.failed = 0;
    return noted;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.running;
    this.agent.destroy();
  }

  private async run(): Promise<void> {
    while (!this.isStopped) {
      const asked = performance.now();
      await fetchOne(this.next(), { agent: this.agent }).catch(() => {
        this.failed++;
      });
      this.times.push(performance.now() - asked);
      await new Promise((wait) => setTimeout(wait, this.pauseMs));
    }
  }
}
