import { type Caller, localName, type MapState } from "../catalog/state.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { publishedLayers, type SearchEntry, searchEntries } from "./entries.js";
import { Found, type Hit } from "./found.js";
import { indexedRows, indexNames } from "./index-names.js";
import { phraseTexts, priorityOf, readPhrase } from "./phrase.js";
import { type SearchSetting, settingsSql } from "./settings.js";
import { type FoundRow, type Look, lookStatement, type Reach, severalLanguages } from "./statements.js";

/** Search of a map: its layers by name, their objects by what the search settings name. */

export interface SearchRequest {
  /** Without NUL and lone surrogates. */
  readonly phrase: string;
  /** Language of names and values; the map's main one stands in. */
  readonly language: string;
  /** Most results. */
  readonly limit: number;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

export interface SearchResult {
  readonly hits: readonly Hit[];
  /** Whether a column of many objects was gone through without an index. */
  readonly indexMissing: boolean;
}

/** No statement begins after this time, and none takes longer than the second: what was found by then is the answer. */
const beginMs = 600;
const statementMs = 300;
/** Rows of a column without indexes that are looked at: of one column, and of all together. */
const tableRows = 20_000;
const allTableRows = 60_000;
/** Rows that are looked at closely of those that the index finds, and in the order of values. (Some 10 µs each.) */
const wordRows = 500;
const orderRows = 250;

/**
 * What is in the map that the caller may read: exact matches first, then what has all words of the phrase, then what
 * has some. Where thousands of objects match, the index alone is asked, and the order by value is that of the objects
 * looked at.
 */
export async function search(db: Database, map: MapState, request: SearchRequest): Promise<SearchResult> {
  const main = map.project.languages[0];
  const published = publishedLayers(map, request.caller);
  const names = published.map((layer) => localName(layer, request.language, main) || layer.code);
  const texts = phraseTexts(request.phrase);
  return db.transaction(async (tx) => {
    // Expressions that fold a text cost more than the planner can know; without an index there is `tableRows`.
    const [first] = await tx.query<{ folds: string[]; settings: SearchSetting[] }>(
      `select set_config('enable_seqscan', 'off', true), set_config('statement_timeout', '${statementMs}', true),
         array(select mapwright.search_fold(t) from unnest($2::text[]) with ordinality u (t, n) order by n) as folds,
         ${settingsSql("$1")} as settings`,
      [map.id, [...texts, ...names]],
    );
    const { folds, settings } = first!;
    const phrase = readPhrase(texts, folds.slice(0, texts.length));
    if (request.limit === 0 || (phrase.needles.length === 0 && !phrase.signs)) {
      return { hits: [], indexMissing: false };
    }
    const found = new Found();
    for (const [i, layer] of published.entries()) {
      const key = folds[texts.length + i]!;
      const name = names[i]!;
      const priority = priorityOf(name, key, phrase);
      if (priority) found.addLayer({ kind: "layer", priority, key, layer, name });
    }
    const entries = searchEntries(map, request.caller, published, settings);
    const looking = new Looking(tx, request, found, {
      phrase,
      languages: { own: request.language, main },
      limit: request.limit,
    });
    const indexMissing = entries.length > 0 && (await looking.run(entries));
    return { hits: found.best(request.limit), indexMissing };
  });
}

/** How a column is searched. */
interface Standing {
  readonly entry: SearchEntry;
  readonly indexed: boolean;
  /** Objects of the layer, estimated. */
  readonly rows: number;
}

/** A column with indexes, and whether its first values alone have enough of what is looked for. */
interface Indexed {
  readonly entry: SearchEntry;
  readonly frequent: { known: boolean; all: boolean; some: boolean };
}

/** One search's way through the entries. */
class Looking {
  private readonly until = performance.now() + beginMs;
  /** Rows without an index that may still be looked at. */
  private rowsLeft = allTableRows;
  private stopped = false;

  constructor(
    private readonly tx: Queryable,
    private readonly request: SearchRequest,
    private readonly found: Found,
    private readonly look: Look,
  ) {}

  /** Looks through the entries until enough was found; gives whether one of them lacks indexes that it should have. */
  async run(entries: readonly SearchEntry[]): Promise<boolean> {
    const standings = await this.standings(entries);
    const { limit, phrase } = this.look;
    for (const standing of standings) {
      if (this.found.count(30) >= limit) return false;
      if (standing.indexed) await this.add(standing.entry, { by: "whole" });
      else await this.lookThrough(standing);
    }
    const indexed = standings
      .filter((standing) => standing.indexed)
      .map(({ entry }): Indexed => ({ entry, frequent: { known: false, all: false, some: false } }));
    if (phrase.signs) {
      for (const { entry } of indexed) await this.add(entry, { by: "signs", rows: wordRows + limit });
    } else {
      if (this.found.count(20) < limit) for (const column of indexed) await this.addWords(column, "all");
      if (this.found.count(20) < limit && phrase.needles.length > 1) {
        for (const column of indexed) await this.addWords(column, "some");
      }
    }
    return standings.some((standing) => !standing.indexed && standing.rows >= indexedRows);
  }

  /**
   * What has all (or some) words, of a column with indexes. The first values in their order come first: where the
   * words are frequent these hold enough of them, and the index need not list what it has. Else the index is asked.
   */
  private async addWords({ entry, frequent }: Indexed, by: "all" | "some"): Promise<void> {
    const { limit } = this.look;
    if (!frequent.known && !severalLanguages(entry.search)) {
      const first = await this.add(entry, { by: "order", rows: orderRows });
      frequent.all = first.filter((row) => row.priority >= 20).length >= limit;
      frequent.some = first.length >= limit;
    }
    frequent.known = true;
    if (!frequent[by]) await this.add(entry, { by, rows: Math.max(wordRows, 2 * limit) });
  }

  private async lookThrough({ entry, rows }: Standing): Promise<void> {
    const reached = Math.min(tableRows, this.rowsLeft);
    if (reached === 0) return;
    this.rowsLeft -= Math.min(reached, Math.ceil(rows));
    await this.add(entry, { by: "table", rows: reached });
  }

  /** Adds what a statement finds, and gives it. */
  private async add(entry: SearchEntry, reach: Reach): Promise<readonly FoundRow[]> {
    if (this.stopped || performance.now() > this.until || this.request.signal.aborted) return [];
    const { text, values } = lookStatement(entry, this.look, reach);
    try {
      const rows = await this.tx.query<FoundRow>(text, values);
      this.found.addObjects(entry, rows);
      return rows;
    } catch (error) {
      // 57014 query_canceled: out of time. 42P01, 42703: the layer or column went a moment ago. The transaction is
      // over in each case, and what was found so far is what there is.
      if (!["57014", "42P01", "42703"].includes((error as { code?: string }).code ?? "")) throw error;
      this.stopped = true;
      return [];
    }
  }

  private async standings(entries: readonly SearchEntry[]): Promise<Standing[]> {
    const rows = await this.tx.query<{ name: string; rows: number }>(
      `select c.relname as name, case when c.reltuples >= 0 then c.reltuples else pg_relation_size(c.oid) / 150 end as rows
       from pg_class c left join pg_index i on i.indexrelid = c.oid
       where c.relnamespace = 'layers'::regnamespace and c.relname = any($1) and coalesce(i.indisvalid, true)`,
      [
        [
          ...new Set(
            entries.flatMap(({ layer, search }) => [`l${layer.id}`, ...Object.values(indexNames(search.id))]),
          ),
        ],
      ],
    );
    const relations = new Map(rows.map((row) => [row.name, row.rows]));
    return entries.map((entry) => {
      const names = indexNames(entry.search.id);
      const indexed = relations.has(names.words) && relations.has(names.exact);
      return { entry, indexed, rows: relations.get(`l${entry.layer.id}`) ?? 0 };
    });
  }
}
