import { publicCaller } from "../../src/catalog/state.js";
import { search } from "../../src/search/search.js";
import { type Database, openDatabase } from "../../src/storage/postgres.js";
import type { Context } from "../context.js";
import { type NamesMap, namesMap } from "../names.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";

/**
 * Searches among a million names, one at a time, beside one look at every name (ILIKE without an index). A look takes
 * 0.3 s where nothing else runs, so that 50 ms are a ratio of six.
 */

const phrases: Readonly<Record<string, readonly string[]>> = {
  "an exact name": ["Paris Street", "Lyon Road, house 7"],
  "nothing like it": ["zzyzx", "qqq zzyzx"],
  "all of two words": ["paris street", "san street", "street house"],
  "some of two words": ["paris zzyzx", "street zzyzx"],
  "a word of half the names": ["street", "treet", "house"],
  "words that never meet": ["street road", "road avenue", "tree oad"],
  "three that never meet": ["street road avenue", "lane road street"],
  "one letter or two": ["s", "7", "s l", "st"],
  signs: ["%_\\", "-- ..", ",", "()", "☕"],
  "words with signs": ["street,", "(street", "road.", "& ! street"],
  "other scripts": ["北京路", "市街", "公园", "شارع", "улица", "ถนน", "улица شارع"],
  "4000 characters": ["street road lane ".repeat(250), "%_\\".repeat(1_400), "x".repeat(4_000)],
};

/** Least ratio of any kind of phrase. */
const gate = 6;
const limit = 10;

export async function searchNames({ world, size }: Context): Promise<Row[]> {
  const db = openDatabase({
    url: world.config().databaseUrl,
    connections: 2,
    statementTimeoutMs: 600_000,
    log: world.log,
  });
  try {
    const names = await namesMap(world, db, size.names);
    const rows: Row[] = [];
    for (const [kind, list] of Object.entries(phrases)) {
      const measure = `search among ${size.names.toLocaleString("en-US")}: ${kind}`;
      const found = await compare(
        size,
        async () => (await milliseconds(() => searchAll(db, names, list))) / list.length,
        [() => milliseconds(() => lookAtAll(db, names))],
        // What counts is the time that one person waits.
        [{ measure, unit: "ms", of: (ms) => ms, less: true, gate }],
      );
      rows.push(...found);
    }
    return rows;
  } finally {
    await db.close();
  }
}

async function milliseconds(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function searchAll(db: Database, { map }: NamesMap, list: readonly string[]): Promise<void> {
  const { signal } = new AbortController();
  for (const phrase of list) {
    await search(db, map, { phrase, language: "en", limit, caller: publicCaller, signal });
  }
}

const lookAtAll = (db: Database, { table, column }: NamesMap): Promise<void> =>
  db.transaction(async (tx) => {
    await tx.execute("set local max_parallel_workers_per_gather = 0");
    await tx.query(`select count(*) from ${table} where ${column} ilike '%zzyzx%'`);
  });
