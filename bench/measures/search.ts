import { publicCaller } from "../../src/catalog/state.js";
import { search } from "../../src/search/search.js";
import { type Database, openDatabase } from "../../src/storage/postgres.js";
import type { Context } from "../context.js";
import { type NamesMap, namesMap } from "../names.js";
import type { Row } from "../report.js";
import { compare, type Round } from "../rounds.js";

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
      const { perSecond } = await compare(
        size.coldRounds,
        () => round(list.length, () => searchAll(db, names, list)),
        () => round(1, () => lookAtAll(db, names)),
      );
      rows.push({
        measure: `search among ${size.names.toLocaleString("en-US")}: ${kind}`,
        unit: "ms",
        ours: 1000 / perSecond.ours,
        reference: 1000 / perSecond.reference,
        ratio: perSecond.ratio,
        gate,
      });
    }
    return rows;
  } finally {
    await db.close();
  }
}

async function round(count: number, work: () => Promise<void>): Promise<Round> {
  const started = performance.now();
  await work();
  const perSecond = (1000 * count) / (performance.now() - started);
  // What counts is the time that one person waits.
  return { perSecond, perCpuSecond: perSecond };
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
