import type MiniSearch from "minisearch";
import type { Options, SearchResult } from "minisearch";

/** The search of the documentation: the same in the build, which makes its index, and in the browser. */

/** A part of a page below one heading. */
export interface Part {
  readonly id: number;
  /** `how-to/restyle`, or `how-to/restyle#colours`. */
  readonly address: string;
  /** Title of its page. */
  readonly page: string;
  /** The same, "" in all but the first part of a page: a page is not found more often for being long. */
  readonly title: string;
  readonly heading: string;
  readonly words: string;
  readonly text: string;
}

/** Words of questions, which say nothing of their subject. */
const empty = new Set(
  "a an and are as at be by can do does for from get have how i if in into is it its me my of on one or own so that the their them there this to use was what when where which who why will with you your".split(
    " ",
  ),
);

/** They end as plurals do, and are none. */
const abbreviations = new Set(["cors", "https", "wfs", "wms", "tms", "dns", "gps", "nfs"]);

/** Common endings are cut off, so that "colours" finds "colour", and "restyling" "restyle". */
function searchTerm(word: string): string | null {
  const plain = word.toLowerCase().replace(/[’']s?$/, "");
  if (plain.length < 2 || empty.has(plain)) return null;
  if (plain.length < 4 || abbreviations.has(plain)) return plain;
  return plain
    .replace(/ies$/, "y")
    .replace(/(?<=[a-z]{3})(?:ing|ed|es|s|e)$/, "")
    .replace(/([bdgmnprt])\1$/, "$1");
}

/** Between words. The default has no symbols, among which is the backtick: names in code would keep theirs. */
const between = /[\n\r\p{Z}\p{P}\p{S}]+/u;

export const searchOptions: Options<Part> = {
  fields: ["title", "words", "heading", "text"],
  storeFields: ["address", "page", "heading"],
  tokenize: (text) => text.split(between),
  processTerm: searchTerm,
  searchOptions: {
    boost: { title: 5, words: 5, heading: 3 },
    fuzzy: (term) => (term.length > 5 ? 0.18 : false),
    prefix: (term) => term.length > 2,
    weights: { fuzzy: 0.3, prefix: 0.5 },
    boostDocument: (_id, _term, part) => weightOf(String(part?.address)),
  },
};

/** Who has a question wants to do something first of all. */
const weightOf = (address: string): number => (/^(?:how-to|operating|tutorials)\//.test(address) ? 1.25 : 1);

/** The name of the product, beside other words, says nothing: each page is about it. */
const withoutProduct = (question: string): string =>
  question.replace(/\bmapwright\b/gi, " ").trim() || question;

export interface Found {
  readonly address: string;
  readonly title: string;
  readonly heading: string;
}

/**
 * The best part of each page that fits a question, the best page first. A page counts by its best part, and by a share of the
 * others, of which long pages have many.
 */
export function findPages(index: MiniSearch<Part>, question: string, most = 8): Found[] {
  const byPage = new Map<string, { score: number; best: SearchResult }>();
  for (const result of index.search(withoutProduct(question))) {
    const page = String(result.address).replace(/#.*/, "");
    const known = byPage.get(page);
    if (known) known.score += result.score * 0.04;
    else byPage.set(page, { score: result.score, best: result });
  }
  return [...byPage.values()]
    .sort((one, other) => other.score - one.score)
    .slice(0, most)
    .map(({ best }) => ({ address: best.address, title: best.page, heading: best.heading }));
}
