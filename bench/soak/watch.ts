import { setTimeout as sleep } from "node:timers/promises";
import type { Server } from "../server.js";
import { type Growth, growth } from "./flat.js";
import { processesOf } from "./processes.js";

/** Watches memory, descriptors and event loops of the nodes while a run lasts. */

export interface Watched {
  /** By process; those that lived too short to tell are left out. */
  readonly processes: readonly WatchedProcess[];
  /** Longest hold of an event loop, in ms, by node. */
  readonly heldMs: readonly number[];
  /** The same of any node, second by second. */
  readonly holds: readonly Hold[];
}

/** The longest hold of an event loop within some time (`Date.now()`). */
export interface Hold {
  readonly from: number;
  readonly to: number;
  readonly ms: number;
}

export interface WatchedProcess {
  readonly name: string;
  /** MiB. */
  readonly memory: Growth;
  readonly descriptors: Growth;
  readonly mostMemory: number;
  readonly mostDescriptors: number;
}

const mib = 1024 ** 2;
const everyMs = 1_000;
/** What a leak is at least. */
const memoryLeak = { share: 0.1, least: 32 };
const descriptorLeak = { share: 0.1, least: 16 };

interface Life {
  readonly name: string;
  memory: number[];
  descriptors: number[];
  /** One value for so many looks: the least of them, so that hours need no more room than minutes. */
  step: number;
  looks: number;
}

const mostValues = 4_000;
const mostHolds = 100_000;

export class Watch {
  private readonly lives = new Map<number, Life>();
  private readonly heldMs: number[];
  private readonly holds: Hold[] = [];
  private readonly watching: Promise<void>;
  private isOver = false;

  constructor(private readonly nodes: readonly Server[]) {
    this.heldMs = nodes.map(() => 0);
    this.watching = this.run();
  }

  async stop(): Promise<Watched> {
    this.isOver = true;
    await this.watching;
    const processes = [...this.lives.values()].flatMap(({ name, memory, descriptors }) => {
      const grown = {
        memory: growth(memory, memoryLeak),
        descriptors: growth(descriptors, descriptorLeak),
      };
      if (!grown.memory || !grown.descriptors) return [];
      const most = { mostMemory: greatest(memory), mostDescriptors: greatest(descriptors) };
      return [{ name, memory: grown.memory, descriptors: grown.descriptors, ...most }];
    });
    return { processes, heldMs: this.heldMs, holds: this.holds };
  }

  private async run(): Promise<void> {
    // What was held before is not of this run.
    await Promise.all(this.nodes.map(({ url }) => heldSince(url)));
    let from = Date.now();
    while (!this.isOver) {
      await sleep(everyMs);
      for (const [index, node] of this.nodes.entries()) this.look(node.pid, index);
      const held = await Promise.all(this.nodes.map(({ url }) => heldSince(url)));
      held.forEach((ms, index) => {
        this.heldMs[index] = Math.max(this.heldMs[index]!, ms);
      });
      const to = Date.now();
      if (this.holds.length < mostHolds) this.holds.push({ from, to, ms: Math.max(...held) });
      from = to;
    }
  }

  private look(node: number, index: number): void {
    if (node === 0) return;
    for (const { pid, role, residentBytes, descriptors } of processesOf(node)) {
      let life = this.lives.get(pid);
      if (!life) {
        life = { name: `${role} ${index + 1} (${pid})`, memory: [], descriptors: [], step: 1, looks: 0 };
        this.lives.set(pid, life);
      }
      note(life, residentBytes / mib, descriptors);
    }
  }
}

function note(life: Life, memory: number, descriptors: number): void {
  if (life.looks++ % life.step === 0) {
    life.memory.push(memory);
    life.descriptors.push(descriptors);
  } else {
    const last = life.memory.length - 1;
    life.memory[last] = Math.min(life.memory[last]!, memory);
    life.descriptors[last] = Math.min(life.descriptors[last]!, descriptors);
  }
  if (life.memory.length < mostValues) return;
  life.memory = inPairs(life.memory);
  life.descriptors = inPairs(life.descriptors);
  life.step *= 2;
}

const inPairs = (values: readonly number[]): number[] =>
  values.flatMap((value, index) => (index % 2 === 0 ? [Math.min(value, values[index + 1] ?? value)] : []));

const greatest = (values: readonly number[]): number => values.reduce((one, other) => Math.max(one, other));

/**
 * How long the node's work held its event loop at most since it was asked last, in ms; 0 while it is away. What it waits for
 * a core is not counted: clients, hostile ones and servers share those of one machine here.
 */
async function heldSince(url: string): Promise<number> {
  try {
    const answer = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(10_000) });
    const text = await answer.text();
    const seconds = /^mapwright_event_loop_held_max_seconds (\S+)$/m.exec(text)?.[1];
    return 1_000 * (Number(seconds) || 0);
  } catch {
    return 0;
  }
}
