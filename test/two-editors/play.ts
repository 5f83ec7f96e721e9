import { randomBytes } from "node:crypto";
import pg from "pg";
import type { Place } from "./place.js";
import { Records } from "./records.js";
import { type Played, play } from "./session.js";

/** Plays many sessions at a time on the same nodes. */

export interface Plan {
  readonly place: Place;
  readonly first: number;
  readonly count: number;
  /** How many at a time. */
  readonly together: number;
  /** Milliseconds of `performance.now()` after which no session begins. */
  readonly until?: number;
  kill(node: number): unknown;
}

export interface Sum {
  readonly sessions: number;
  /** The first that was wrong, and no more begin then. */
  readonly wrong: Played | undefined;
  readonly counts: Readonly<Record<string, number>>;
}

export async function playAll({ place, first, count, together, until, kill }: Plan): Promise<Sum> {
  const sql = new pg.Pool({ connectionString: place.databaseUrl, max: 4 });
  const records = new Records(place, sql);
  const run = randomBytes(3).toString("hex");
  const counts: Record<string, number> = {};
  let next = first;
  let sessions = 0;
  let wrong: Played | undefined;
  const work = async () => {
    while (next < first + count && !wrong && performance.now() < (until ?? Infinity)) {
      const played = await play({ place, records, run, kill }, next++);
      sessions++;
      for (const [what, times] of Object.entries(played.counts)) counts[what] = (counts[what] ?? 0) + times;
      if (played.wrong.length > 0) wrong ??= played;
    }
  };
  try {
    await Promise.all(Array.from({ length: together }, work));
  } finally {
    await sql.end();
  }
  return { sessions, wrong, counts };
}

/** What was wrong, and how it came. */
export const told = ({ seed, wrong, trace }: Played): string =>
  [`Seed ${seed}:`, ...wrong.map((one) => `WRONG: ${one}`), ...trace.map((one) => `  ${one}`)].join("\n");
