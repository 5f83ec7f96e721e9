import { type Caller, localName, type MapState } from "../catalog/state.js";
import { notFound } from "../errors.js";
import type { Database } from "../storage/postgres.js";
import { publishedLayers, searchEntries } from "./entries.js";
import { Found, type Hit } from "./found.js";
import { nearWords } from "./near-words.js";
import { phraseTexts, priorityOf, readPhrase } from "./phrase.js";
import { rankOf, rankOfBeginnings, rankOfWholes } from "./rank.js";
import { SearchRun } from "./search-run.js";
import { type SearchSetting, settingsSql } from "./settings.js";

/** Search of a map: layers by name, and objects by the columns in the search settings. */

export interface SearchRequest {
  /** Without NUL and lone surrogates. */
  readonly phrase: string;
  /** Language of names and values; the fallback is the main language of the map. */
  readonly language: string;
  /** Maximum number of results. */
  readonly limit: number;
  readonly caller: Caller;
  /** Who searches: an address. Searches are shared among clients. */
  readonly client?: string;
  readonly signal: AbortSignal;
}

export interface SearchResult {
  readonly hits: readonly Hit[];
  /** Whether a large column was scanned without an index. */
  readonly indexMissing: boolean;
  /** Whether there was too little time to look everywhere: there may be more, and better ones. */
  readonly isCut: boolean;
}

/** How long a search may take. */
export interface SearchTimes {
  /** Timeout of a statement. */
  readonly statementMs: number;
  /** No statement is started after this time; the results so far are returned. */
  readonly startMs: number;
}

/** Less than a second in total. */
const defaultTimes: SearchTimes = { statementMs: 250, startMs: 600 };

/**
 * Finds layers and objects that the caller may read: exact matches first, then those with all words of the phrase, then
 * those with some; of these whole words, then beginnings of words, first. Where no words begin so, those with words like the
 * phrase's are found, and come before those that have it as a part of a word or in part. If thousands of objects match, only some of them are examined, and sorting by value applies to
 * these.
 * @throws Failure not_found when the map is deleted meanwhile
 */
export async function search(
  db: Database,
  map: MapState,
  request: SearchRequest,
  times = defaultTimes,
): Promise<SearchResult> {
  const main = map.project.languages[0];
  const published = publishedLayers(map, request.caller);
  const names = published.map((layer) => localName(layer, request.language, main) || layer.code);
  const texts = phraseTexts(request.phrase);
  return db.transaction(async (tx) => {
    // The planner underestimates the cost of `search_fold` in sequential scans; `SearchRun` limits the rows of these.
    const [first] = await tx.query<{ folds: string[]; settings: SearchSetting[] }>(
      `select set_config('enable_seqscan', 'off', true), set_config('statement_timeout', $3, true),
         array(select mapwright.search_fold(t) from unnest($2::text[]) with ordinality u (t, n) order by n) as folds,
         ${settingsSql("$1")} as settings`,
      [map.id, [...texts, ...names], String(times.statementMs)],
    );
    const { folds, settings } = first!;
    const phrase = readPhrase(folds.slice(0, texts.length));
    if (request.limit === 0 || phrase.needles.length === 0) {
      return { hits: [], indexMissing: false, isCut: false };
    }
    const found = new Found();
    for (const [i, layer] of published.entries()) {
      const key = folds[texts.length + i]!;
      const priority = priorityOf(key, phrase);
      if (priority)
        found.addLayer({
          kind: "layer",
          priority,
          rank: rankOf(key, phrase),
          key,
          layer,
          name: names[i]!,
        });
    }
    const entries = searchEntries(map, request.caller, published, settings);
    const query = { phrase, languages: { own: request.language, main }, limit: request.limit };
    const run = new SearchRun(tx, request.signal, found, query, times.startMs);
    const indexMissing = entries.length > 0 && (await run.run(entries));
    if (found.count(20, rankOfBeginnings(phrase)) === 0) {
      const near = new Found();
      const rank = rankOfWholes(phrase);
      const words = nearWords(phrase);
      const patterns = words.map(({ pattern }) => new RegExp(pattern, "u"));
      for (const [i, layer] of published.entries()) {
        const key = folds[texts.length + i]!;
        if (words.length > 0 && patterns.every((pattern) => pattern.test(key)))
          near.addLayer({ kind: "layer", priority: 10, rank, key, layer, name: names[i]! });
      }
      await run.findNear(words, near);
      found.addNear(near);
    }
    // A deleted layer is just omitted; for a deleted map, the response is 404.
    if (run.isStale && (await tx.query("select from map where id = $1", [map.id])).length === 0)
      throw notFound(`map "${map.code}"`);
    return { hits: found.best(request.limit), indexMissing, isCut: run.isCut };
  });
}
