import { setTimeout as sleep } from "node:timers/promises";
import { type City, cityLogin } from "./city.js";
import { Client } from "./client.js";
import { Editor } from "./clients/editor.js";
import { Importer } from "./clients/importer.js";
import { read } from "./clients/reader.js";
import { view } from "./clients/viewer.js";
import type { Ledger } from "./ledger.js";
import { Random } from "./random.js";
import type { Tally } from "./tally.js";

/** The well-behaved clients of a run, each with an address of its own. */

export interface CrowdOptions {
  readonly urls: readonly string[];
  readonly city: City;
  readonly tally: Tally;
  readonly ledger: Ledger;
  readonly seed: number;
  /** Viewers, readers, and editors: so many of each. */
  readonly each: number;
  /** What the texts of the run begin with. */
  readonly run: string;
}

export interface Crowd {
  /** Resolves when all have ended what they were at. */
  leave(): Promise<void>;
}

/** Longest pauses between two requests of a client; on average it is half. */
const pausesMs = { view: 120, read: 200, edit: 250, import: 1_500 };

export function startCrowd({ urls, city, tally, ledger, seed, each, run }: CrowdOptions): Crowd {
  const working: Promise<void>[] = [];
  let isOver = false;
  const start = (
    user: string,
    pauseMs: number,
    prepare: (client: Client, name: string) => (random: Random) => Promise<void>,
  ) => {
    const index = working.length;
    const client = new Client({
      urls: index % 2 === 0 ? urls : urls.toReversed(),
      address: `198.51.100.${1 + index}`,
      tally,
      login: { path: cityLogin, user, pass: `${user}-${user}` },
    });
    const random = new Random(seed * 1_000 + index);
    const act = prepare(client, `${run} ${index}`);
    const work = async () => {
      while (!isOver) {
        await sleep(random.next() * pauseMs);
        await act(random);
      }
      client.close();
    };
    working.push(work());
  };
  for (let index = 0; index < each; index++) {
    start("reader", pausesMs.view, (client) => (random) => view(client, random, city));
    start("reader", pausesMs.read, (client) => (random) => read(client, random, city));
    start("editor", pausesMs.edit, (client, name) => {
      const editor = new Editor(client, ledger, name);
      return (random) => editor.edit(random);
    });
  }
  start("editor", pausesMs.import, (client, name) => {
    const importer = new Importer(client, ledger, name);
    return (random) => importer.work(random);
  });
  return {
    leave: async () => {
      isOver = true;
      await Promise.all(working);
    },
  };
}
