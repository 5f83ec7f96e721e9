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
  /** The first and the last zoom at which it is drawn, and not as the objects in no other class; undefined = at all. */
  readonly zooms: readonly [number, number] | undefined;
}

export interface StyleClasses {
  readonly classes: readonly StyleClass[];
  /** How many more there are. */
  readonly more: number;
}

/** Of one legend. */
const maxClasses = 100;
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
  const others = filters.has("") ? drawnByZoom(styles, "", sampleOf(undefined)).map(looks) : undefined;
  return {
    classes: all
      .slice(0, maxClasses)
      .map(([text, filter]) => classOf(styles, { text, filter, others: filter && others })),
    more: Math.max(0, all.length - maxClasses),
  };
}

/** What is drawn, to be compared. */
const looks = (styles: readonly Style[]): string =>
  JSON.stringify(styles.map(({ name, rules }) => [name, rules]));

/** @param of.others how objects in no other class look by zoom */
function classOf(
  styles: readonly ReadStyle[],
  {
    text,
    filter,
    others,
  }: {
    readonly text: string;
    readonly filter: Expression | undefined;
    readonly others: readonly string[] | undefined;
  },
): StyleClass {
  const sample = sampleOf(filter);
  const choices = drawnByZoom(styles, text, sample);
  const amount = (one: readonly Style[]) =>
    one.reduce((sum, { rules }) => sum + (rules[0]?.symbolizers.length ?? 0), 0);
  const most = Math.max(...choices.map(amount));
  const best = choices.filter((one) => amount(one) === most);
  const drawn = zooms.filter((zoom) => {
    const choice = choices[zoom]!;
    return amount(choice) > 0 && looks(choice) !== others?.[zoom];
  });
  const isLimited = drawn.length > 0 && drawn.length < zooms.length;
  return {
    filter,
    styles: best[best.length >> 1]!,
    sample,
    zooms: isLimited ? [drawn[0]!, drawn.at(-1)!] : undefined,
  };
}

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
