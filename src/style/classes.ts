import { topScaleDenominator } from "../geo/tile.js";
import type { GeometryKind } from "../geo/wkb.js";
import { type Condition, conditionsOf, meetsAll } from "./conditions.js";
import type { Expression } from "./expression.js";
import { parseExpression } from "./expression-parser.js";
import { wordedFilter } from "./filter-words.js";
import type { DrawnRule, Rule, Style, StyleClass, StyleClasses, Symbolizer } from "./model.js";
import { comparisonOf, type Sample, type SampleValue, sampleOf, selects } from "./sample.js";
import { swatchOf } from "./swatch.js";
import { drawnStyles } from "./symbol.js";

/**
 * The rules of a style as the classes of a legend: one for each filter, with what all attachments draw of its objects. They
 * are worked out where the style is compiled, once, and belong to it.
 */

/** Of one legend. */
const maxClasses = 100;
/** Largest number of filters that are compared with one another. */
const maxFilters = 300;
/** Comparisons of filters with objects and with one another, in all: what is left then is not listed. */
const maxSteps = 2_000_000;
/** Of a symbol that is drawn by more, in characters of the symbolizers or in their number, the uppermost are shown. */
const mostDrawnCharacters = 32 * 1024;
const mostDrawn = 200;
const zooms = Array.from({ length: 23 }, (_, zoom) => zoom);

/** A rule, read. */
interface ReadRule {
  readonly rule: Rule;
  /** Number of its style. */
  readonly style: number;
  /** Its place in the style: the first one that takes an object draws it. */
  readonly at: number;
  readonly filter: Expression | undefined;
  /** Equal for rules with the same symbolizers; 0 = none. */
  readonly look: number;
  /** Characters of the symbolizers. */
  readonly length: number;
  /** The zooms at which it applies, from the first to before the second. */
  readonly zooms: readonly [number, number];
}

/** What draws an object by zoom, in one style. */
type Choices = readonly (ReadRule | undefined)[];

/** The classes in the order of the style. */
export const styleClasses = (styles: readonly Style[]): StyleClasses => new ClassFinder(styles).find();

const isSymbol = ({ type }: Symbolizer): boolean => type !== "TextSymbolizer";

/** How the objects that a filter takes look. */
interface Looks {
  readonly at: number;
  readonly filter: Expression | undefined;
  readonly conditions: readonly Condition[];
  readonly sample: Sample;
  /** In styles that draw them otherwise than objects that no filter takes. */
  readonly choices: ReadonlyMap<number, Choices>;
  /**
   * By zoom: equal for what looks equal; 0 where nothing is drawn, or where they are in wider classes, having no rule of
   * their own.
   */
  readonly looks: readonly number[];
}

class ClassFinder {
  private readonly rules: readonly (readonly ReadRule[])[];
  /** By style: what draws objects that no filter takes. */
  private readonly plain: readonly Choices[];
  /** Without filters, by style. */
  private readonly free: readonly (readonly ReadRule[])[];
  private readonly byText = new Map<string, ReadRule[]>();
  /** By a column and a value that it must have. */
  private readonly byValue = new Map<string, Map<SampleValue, ReadRule[]>>();
  /** With filters that ask for no value. */
  private readonly others: ReadRule[] = [];
  private readonly looks = new Map<string, number>();
  private steps = 0;

  constructor(private readonly styles: readonly Style[]) {
    const parsed = new Map<string, Expression>();
    const symbolizers = new Map<string, number>();
    // Symbols have no labels beside anything else: what only labels tell apart is one class then.
    const hasSymbols = styles.some(({ rules }) => rules.some((rule) => rule.symbolizers.some(isSymbol)));
    const read = (rule: Rule, style: number, at: number): ReadRule => {
      let filter: Expression | undefined;
      if (rule.filter !== undefined) {
        filter = parsed.get(rule.filter) ?? parseExpression(rule.filter);
        parsed.set(rule.filter, filter);
      }
      const seen = hasSymbols ? rule.symbolizers.filter(isSymbol) : rule.symbolizers;
      const text = JSON.stringify(seen);
      if (seen.length > 0 && !symbolizers.has(text)) symbolizers.set(text, symbolizers.size + 1);
      const look = seen.length > 0 ? symbolizers.get(text)! : 0;
      const { length } = seen.length < rule.symbolizers.length ? JSON.stringify(rule.symbolizers) : text;
      return { rule, style, at, filter, look, length, zooms: zoomsOf(rule) };
    };
    this.rules = styles.map(({ rules }, style) => rules.map((rule, at) => read(rule, style, at)));
    this.free = this.rules.map((all) => all.filter(({ filter }) => !filter));
    this.plain = this.free.map(choicesOf);
    for (const one of this.rules.flat()) this.index(one);
  }

  private index(one: ReadRule): void {
    const text = one.rule.filter ?? "";
    push(this.byText, text, one);
    if (!one.filter) return;
    const needed = neededValue(one.filter);
    if (!needed) this.others.push(one);
    else {
      let values = this.byValue.get(needed.name);
      if (!values) {
        values = new Map();
        this.byValue.set(needed.name, values);
      }
      push(values, needed.value, one);
    }
  }

  find(): StyleClasses {
    const texts = new Set<string>();
    // carto puts the most specific rule of a style first, and that is written last.
    for (const rules of this.rules)
      for (const { rule, look } of rules.toReversed()) if (look > 0) texts.add(rule.filter ?? "");
    const all: Looks[] = [];
    for (const text of texts) {
      if (all.length >= maxFilters || this.steps > maxSteps) break;
      all.push(this.looksOf(text, all.length));
    }
    const shown = all.flatMap((one) => {
      const at = this.shownAt(one, all);
      return at.length > 0 ? [{ one, at }] : [];
    });
    return {
      classes: shown.slice(0, maxClasses).map(({ one, at }) => this.classOf(one, at)),
      more: Math.max(0, shown.length - maxClasses) + texts.size - all.length,
    };
  }

  private looksOf(text: string, at: number): Looks {
    const own = this.byText.get(text)!;
    const { filter } = own[0]!;
    const sample = sampleOf(filter);
    const taking = new Map<number, ReadRule[]>();
    if (filter) {
      for (const one of own) push(taking, one.style, one);
      // Where the style has rules of the class, a more specific one must not hide them.
      const ofClass = new Set(taking.keys());
      for (const one of this.candidates(sample)) {
        this.steps += 1 + ((one.rule.filter?.length ?? 0) >> 5);
        if (!ofClass.has(one.style) && selects(one.filter!, sample) === true) push(taking, one.style, one);
      }
    } else
      for (const one of this.candidates(sample)) {
        this.steps += 1 + ((one.rule.filter?.length ?? 0) >> 5);
        const isOfClass = this.free[one.style]!.length > 0;
        if (!isOfClass && selects(one.filter!, sample) === true) push(taking, one.style, one);
      }
    const choices = new Map<number, Choices>();
    for (const style of [...taking.keys()].sort((one, other) => one - other)) {
      const rules = [...taking.get(style)!, ...this.free[style]!].sort((one, other) => one.at - other.at);
      this.steps += rules.length;
      choices.set(style, choicesOf(rules));
    }
    const isOwn = zooms.map((zoom) => own.some((one) => one.look > 0 && appliesAt(one, zoom)));
    const looks = zooms.map((zoom) =>
      isOwn[zoom] && this.isDrawn(choices, zoom) ? this.look(choices, zoom) : 0,
    );
    return { at, filter, conditions: conditionsOf(filter), sample, choices, looks };
  }

  /** The rules that may take an object. */
  private candidates(sample: Sample): ReadRule[] {
    const asked = [...sample.values].flatMap(([name, value]) => this.byValue.get(name)?.get(value) ?? []);
    return [...asked, ...this.others];
  }

  private isDrawn(choices: Looks["choices"], zoom: number): boolean {
    for (const chosen of choices.values()) if ((chosen[zoom]?.look ?? 0) > 0) return true;
    return this.plain.some((chosen, style) => !choices.has(style) && (chosen[zoom]?.look ?? 0) > 0);
  }

  private look(choices: Looks["choices"], zoom: number): number {
    const parts: string[] = [];
    for (const [style, chosen] of choices) {
      const look = chosen[zoom]?.look ?? 0;
      if (look !== (this.plain[style]![zoom]?.look ?? 0)) parts.push(`${style}:${look}`);
    }
    const text = parts.join();
    const known = this.looks.get(text) ?? this.looks.size + 1;
    this.looks.set(text, known);
    return known;
  }

  /** The zooms at which its objects look otherwise than those of wider classes; none = it is no class. */
  private shownAt(one: Looks, all: readonly Looks[]): number[] {
    let shown = zooms.filter((zoom) => one.looks[zoom]! > 0);
    for (const other of all) {
      if (shown.length === 0) break;
      if (other === one) continue;
      const alike = shown.filter((zoom) => other.looks[zoom] === one.looks[zoom]);
      if (alike.length > 0 && this.isWider(other, one)) shown = shown.filter((zoom) => !alike.includes(zoom));
    }
    return shown;
  }

  /** Of two that take the same objects the first is the wider one. */
  private isWider(one: Looks, than: Looks): boolean {
    this.steps += 1 + one.conditions.length * than.conditions.length;
    if (this.steps > maxSteps) return false;
    return (
      meetsAll(than.conditions, one.conditions) &&
      (!meetsAll(one.conditions, than.conditions) || one.at < than.at)
    );
  }

  /** @param shown the zooms at which it is a class of its own */
  private classOf({ filter, sample, choices }: Looks, shown: readonly number[]): StyleClass {
    const chosenAt = (zoom: number) =>
      this.plain.map((chosen, style) => (choices.get(style) ?? chosen)[zoom]);
    const amounts = new Map(
      shown.map((zoom) => [
        zoom,
        chosenAt(zoom).reduce((sum, chosen) => sum + (chosen?.rule.symbolizers.length ?? 0), 0),
      ]),
    );
    const most = Math.max(...amounts.values());
    const best = shown.filter((zoom) => amounts.get(zoom) === most);
    const drawn = uppermost(chosenAt(best[best.length >> 1]!));
    const styles = drawnStyles(this.styles, drawn);
    return {
      ...(filter && { filter: wordedFilter(filter) }),
      drawn,
      colors: {
        Point: fillOf(styles, "Point"),
        LineString: fillOf(styles, "LineString"),
        Polygon: fillOf(styles, "Polygon"),
        Unknown: fillOf(styles, "Unknown"),
      },
      hasPicture: styles.some(({ rules }) =>
        rules.some(({ symbolizers }) => symbolizers.some(({ picture }) => picture !== undefined)),
      ),
      values: [...sample.values],
      ...(sample.geometryType !== undefined && { geometryType: sample.geometryType }),
      ...(shown.length < zooms.length && { zooms: [shown[0]!, shown.at(-1)!] as const }),
    };
  }
}

/** As much of what is drawn, from its top, as a symbol shows. */
function uppermost(chosen: readonly (ReadRule | undefined)[]): DrawnRule[] {
  const drawn: DrawnRule[] = [];
  let [count, characters] = [0, 0];
  for (const one of chosen.toReversed()) {
    if (!one || one.look === 0) continue;
    const { symbolizers } = one.rule;
    let from = symbolizers.length;
    while (from > 0) {
      const length = symbolizers.length === 1 ? one.length : JSON.stringify(symbolizers[from - 1]).length;
      if (count > 0 && (count >= mostDrawn || characters + length > mostDrawnCharacters)) break;
      count++;
      characters += length;
      from--;
    }
    if (from < symbolizers.length) drawn.unshift([one.style, one.at, from]);
    if (from > 0) break;
  }
  return drawn;
}

/** Of what is drawn last. */
function fillOf(styles: readonly Style[], kind: GeometryKind): string {
  const { fill, stroke } = swatchOf({ styles: styles.toReversed() }, kind);
  return fill === "none" ? stroke : fill;
}

/** A value that a column must have; undefined = it asks for none. */
function neededValue(filter: Expression): { name: string; value: SampleValue } | undefined {
  switch (filter.kind) {
    case "and":
      return neededValue(filter.right) ?? neededValue(filter.left);
    case "field":
      return { name: filter.name, value: true };
    case "comparison": {
      const found = comparisonOf(filter);
      if (found?.of.kind !== "field" || found.operator !== "=" || found.constant === null) return undefined;
      return { name: found.of.name, value: found.constant };
    }
    default:
      return undefined;
  }
}

/** @param rules in the order in which Mapnik tries them */
function choicesOf(rules: readonly ReadRule[]): Choices {
  const choices: (ReadRule | undefined)[] = zooms.map(() => undefined);
  for (const one of rules) for (let zoom = one.zooms[0]; zoom < one.zooms[1]; zoom++) choices[zoom] ??= one;
  return choices;
}

const appliesAt = ({ zooms: [first, end] }: ReadRule, zoom: number): boolean => zoom >= first && zoom < end;

function zoomsOf({ minScaleDenominator, maxScaleDenominator }: Rule): [number, number] {
  if (minScaleDenominator === undefined && maxScaleDenominator === undefined) return [0, zooms.length];
  const applying = zooms.filter((zoom) => {
    const scale = topScaleDenominator / 2 ** zoom;
    return (
      scale >= (minScaleDenominator ?? 0) - 1e-6 &&
      scale < (maxScaleDenominator ?? Number.POSITIVE_INFINITY) + 1e-6
    );
  });
  return applying.length === 0 ? [0, 0] : [applying[0]!, applying.at(-1)! + 1];
}

function push<K, V>(lists: Map<K, V[]>, key: K, one: V): void {
  const list = lists.get(key);
  if (list) list.push(one);
  else lists.set(key, [one]);
}
