import { type Condition, conditionsOf, meetsAll } from "./conditions.js";
import type { Expression } from "./expression.js";
import { parseExpression } from "./expression-parser.js";
import type { CompiledStyle, Rule, Style } from "./model.js";
import { type Sample, sampleOf, selects } from "./sample.js";

/** The rules of a style as the classes of a legend: one for each filter, with what all attachments draw of its objects. */

export interface StyleClass {
  /** Undefined = the objects in no other class. */
  readonly filter: Expression | undefined;
  /** What is drawn of an object of the class, at the zoom at which that is most: rules without filters and zooms. */
  readonly styles: readonly Style[];
  /** An object of the class. */
  readonly sample: Sample;
  /**
   * The first and the last zoom at which it is drawn by a rule of its own, and not as the objects of a wider class;
   * undefined = at all.
   */
  readonly zooms: readonly [number, number] | undefined;
}

export interface StyleClasses {
  readonly classes: readonly StyleClass[];
  /** How many more there are. */
  readonly more: number;
}

/** Of one legend. */
const maxClasses = 100;
/** So many filters are compared, with one another. */
const maxFilters = 300;
const zooms = Array.from({ length: 23 }, (_, zoom) => zoom);
const topScaleDenominator = 559082264.0287178;

/** A rule with its filter as an expression. */
interface ReadRule {
  readonly rule: Rule;
  readonly filter: Expression | undefined;
}

interface ReadStyle {
  readonly style: Style;
  /** In the order in which Mapnik tries them. */
  readonly rules: readonly ReadRule[];
}

/** The classes in the order of the style. */
export function styleClasses(style: CompiledStyle): StyleClasses {
  const filters = new Map<string, Expression | undefined>();
  const parsed = new Map<string, Expression>();
  const read = (rule: Rule): ReadRule => {
    const text = rule.filter;
    if (text === undefined) return { rule, filter: undefined };
    const filter = parsed.get(text) ?? parseExpression(text);
    parsed.set(text, filter);
    return { rule, filter };
  };
  const styles: ReadStyle[] = style.styles.map((one) => ({ style: one, rules: one.rules.map(read) }));
  // carto puts the most specific rule of a style first, and that is written last.
  for (const { rules } of styles)
    for (const { rule, filter } of rules.toReversed())
      if (rule.symbolizers.length > 0) filters.set(rule.filter ?? "", filter);
  const all = [...filters];
  const looks = all.slice(0, maxFilters).map(([text, filter]) => looksOf(styles, text, filter));
  const classes = looks.flatMap((one) => classOf(one, looks) ?? []);
  const more = Math.max(0, classes.length - maxClasses) + Math.max(0, all.length - maxFilters);
  return { classes: classes.slice(0, maxClasses), more };
}

/** How the objects that a filter takes look. */
interface Looks {
  readonly filter: Expression | undefined;
  readonly conditions: readonly Condition[];
  readonly sample: Sample;
  /** By zoom: what is drawn; undefined where nothing is, or where they are in wider classes, having no rule of their own. */
  readonly drawn: readonly (readonly Style[] | undefined)[];
  /** By zoom, to be compared. */
  readonly texts: readonly string[];
}

function looksOf(styles: readonly ReadStyle[], text: string, filter: Expression | undefined): Looks {
  const sample = sampleOf(filter);
  const choices = drawnByZoom(styles, text, sample);
  const hasOwn = (zoom: number) =>
    styles.some(({ rules }) =>
      rules.some(
        ({ rule }) => (rule.filter ?? "") === text && rule.symbolizers.length > 0 && appliesAt(rule, zoom),
      ),
    );
  const drawn = zooms.map((zoom) => (choices[zoom]!.length > 0 && hasOwn(zoom) ? choices[zoom] : undefined));
  const texts = drawn.map((one) => (one ? JSON.stringify(one.map(({ name, rules }) => [name, rules])) : ""));
  return { filter, conditions: conditionsOf(filter), sample, drawn, texts };
}

/** Undefined = at each zoom its objects look as those of a wider class, or nothing is drawn. */
function classOf(one: Looks, all: readonly Looks[]): StyleClass | undefined {
  const wider = all.filter((other) => other !== one && isWider(other, one, all));
  const shown = zooms.filter(
    (zoom) => one.drawn[zoom] && !wider.some(({ texts }) => texts[zoom] === one.texts[zoom]),
  );
  if (shown.length === 0) return undefined;
  const amounts = shown.map((zoom) =>
    one.drawn[zoom]!.reduce((sum, { rules }) => sum + (rules[0]?.symbolizers.length ?? 0), 0),
  );
  const most = Math.max(...amounts);
  const best = shown.filter((_, index) => amounts[index] === most);
  return {
    filter: one.filter,
    styles: one.drawn[best[best.length >> 1]!]!,
    sample: one.sample,
    zooms: shown.length < zooms.length ? [shown[0]!, shown.at(-1)!] : undefined,
  };
}

/** Of two that take the same objects the first is the wider one. */
const isWider = (one: Looks, than: Looks, all: readonly Looks[]): boolean =>
  meetsAll(than.conditions, one.conditions) &&
  (!meetsAll(one.conditions, than.conditions) || all.indexOf(one) < all.indexOf(than));

function drawnByZoom(styles: readonly ReadStyle[], text: string, sample: Sample): Style[][] {
  const mayDraw = styles.map((one) => ({
    style: one.style,
    isExclusive: one.style.attributes["filter-mode"] === "first",
    rules: rulesFor(one, text, sample),
  }));
  return zooms.map((zoom) =>
    mayDraw.flatMap(({ style, isExclusive, rules }) => {
      const shown = rules.filter((rule) => appliesAt(rule, zoom));
      const drawn = isExclusive ? shown.slice(0, 1) : shown;
      const symbolizers = drawn.flatMap((rule) => rule.symbolizers);
      return symbolizers.length > 0 ? [{ ...style, rules: [{ symbolizers }] }] : [];
    }),
  );
}

/** Those that select the class's objects. Its own rules do, even where that cannot be told. */
function rulesFor({ rules }: ReadStyle, text: string, sample: Sample): Rule[] {
  const own = rules.some(({ rule }) => (rule.filter ?? "") === text);
  return rules.flatMap(({ rule, filter }) => {
    const isOwn = (rule.filter ?? "") === text;
    // Where the style has rules of the class, a more specific one must not hide them.
    if (own && !isOwn && filter !== undefined) return [];
    return isOwn || !filter || selects(filter, sample) === true ? [rule] : [];
  });
}

function appliesAt({ minScaleDenominator, maxScaleDenominator }: Rule, zoom: number): boolean {
  const scale = topScaleDenominator / 2 ** zoom;
  return (
    scale >= (minScaleDenominator ?? 0) - 1e-6 &&
    scale < (maxScaleDenominator ?? Number.POSITIVE_INFINITY) + 1e-6
  );
}
