import { LRUCache } from "lru-cache";
import type { LayerNode } from "../catalog/state.js";
import type { Clock } from "../clock.js";
import type { Languages } from "../features/column-sql.js";
import { topScaleDenominator } from "../geo/tile.js";
import { ObjectNumbers } from "../object-numbers.js";
import type { CompiledStyle, Rule, Style } from "../style/model.js";
import { fieldSql } from "../tiles/datasource.js";
import { appliesAt, ruleSql } from "../tiles/thinning.js";

/** Which objects of layers their styles draw, in SQL. */

/** Filters of one layer, and characters of them and of their SQL: with more all its objects count as drawn. */
const mostFilters = 1_000;
const mostCharacters = 64 * 1024;
/** Reading one takes 5 µs, and 0.1 ms before the code is compiled. */
const filtersAtOnce = 100;
/** Of all layers that were asked for last. */
const cacheBytes = 16 * 1024 ** 2;

export interface Seen {
  readonly zoom: number;
  readonly languages: Languages;
}

/** Keeps the conditions of layers, since working one out may take milliseconds. */
export class DrawnConditions {
  private readonly known = new LRUCache<string, { readonly sql: string | undefined }>({
    maxSize: cacheBytes,
    sizeCalculation: ({ sql }, key) => 200 + 2 * (key.length + (sql?.length ?? 0)),
  });
  private readonly numbers = new ObjectNumbers();
  private readonly pending = new Map<string, Promise<string | undefined>>();
  /** Ends when nothing is worked out any more. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly clock: Pick<Clock, "turn">) {}

  /** As `drawnSql`. One is worked out at a time, a part of it in a turn of the event loop. */
  async of(layer: LayerNode, style: CompiledStyle, seen: Seen): Promise<string | undefined> {
    const { own, main } = seen.languages;
    const key = [this.numbers.of(layer), this.numbers.of(style), seen.zoom, own, main].join(" ");
    const known = this.known.get(key);
    if (known) return known.sql;
    let pending = this.pending.get(key);
    if (!pending) {
      const work = async () => {
        const sql = await this.workOut(condition(layer, style, seen));
        this.known.set(key, { sql });
        return sql;
      };
      pending = this.last.then(work).finally(() => this.pending.delete(key));
      this.pending.set(key, pending);
      this.last = pending.catch(() => undefined);
    }
    return pending;
  }

  private async workOut(parts: ReturnType<typeof condition>): Promise<string | undefined> {
    for (;;) {
      const part = parts.next();
      if (part.done) return part.value;
      await this.clock.turn();
    }
  }
}

/**
 * SQL that is true for the objects `o$` of a layer which its style draws at a zoom; undefined = it draws none there. What SQL
 * evaluates differently counts as true, and so does what is too long.
 */
export function drawnSql(layer: LayerNode, style: CompiledStyle, seen: Seen): string | undefined {
  const parts = condition(layer, style, seen);
  for (;;) {
    const part = parts.next();
    if (part.done) return part.value;
  }
}

/** In parts, between which others may have their turn. */
function* condition(
  layer: LayerNode,
  style: CompiledStyle,
  { zoom, languages }: Seen,
): Generator<undefined, string | undefined> {
  const scaleDenominator = topScaleDenominator / 2 ** zoom;
  const styles = style.styles.flatMap(({ attributes, rules }) => {
    const applying = rules.filter((rule) => appliesAt(rule, scaleDenominator));
    return applying.some(draws)
      ? [{ isExclusive: attributes["filter-mode"] === "first", rules: applying }]
      : [];
  });
  if (styles.length === 0) return undefined;
  if (styles.some(drawsAll)) return "true";
  const rules = styles.flatMap((one) => one.rules);
  const filters = rules.flatMap(({ filter }) => filter ?? []);
  if (filters.length > mostFilters || lengthOf(filters) > mostCharacters) return "true";
  const columns = new Map(layer.columns.map((column) => [column.code, column]));
  const options = { language: languages.own, mainLanguage: languages.main };
  const sqls = new Map<Rule, string | undefined>();
  for (const [at, rule] of rules.entries()) {
    if (at % filtersAtOnce === 0) yield;
    sqls.set(
      rule,
      ruleSql(rule, columns, (column) => fieldSql(column, options)),
    );
  }
  const drawn = new Set(styles.flatMap((one) => drawing(one, (rule) => sqls.get(rule))));
  if (drawn.has("true") || lengthOf([...drawn]) > mostCharacters) return "true";
  return `(${[...drawn].join(" or ")})`;
}

const lengthOf = (texts: readonly string[]): number => texts.reduce((sum, { length }) => sum + length, 0);

/** The rules of a style at a zoom, of which the first one that takes an object may be the only one. */
interface Applying {
  readonly isExclusive: boolean;
  readonly rules: Style["rules"];
}

const draws = ({ symbolizers }: Rule): boolean => symbolizers.length > 0;

/** Whether each object is drawn: by a rule for all of them, unless others may take it before. */
function drawsAll({ isExclusive, rules }: Applying): boolean {
  const forAll = rules.findIndex((rule) => rule.filter === undefined && draws(rule));
  return forAll >= 0 && (!isExclusive || rules.slice(0, forAll).every(draws));
}

/** SQL of the objects that rules of a style draw. */
function drawing({ isExclusive, rules }: Applying, sqlOf: (rule: Rule) => string | undefined): string[] {
  if (!isExclusive || rules.every(draws)) return rules.filter(draws).map((rule) => sqlOf(rule) ?? "true");
  // Of what rules without symbols take, those after them draw nothing.
  const cases = rules.flatMap((rule) => {
    const sql = sqlOf(rule) ?? (draws(rule) ? "true" : undefined);
    return sql === undefined ? [] : [`when ${sql} then ${draws(rule)}`];
  });
  return [`case ${cases.join(" ")} else false end`];
}
