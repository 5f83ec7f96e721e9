import { type Condition, conditionsOf, meetsAll } from "./conditions.js";
import { parseExpression } from "./expression-parser.js";
import type { Rule } from "./model.js";

/**
 * carto writes a rule for each combination of filters and zooms, most of which draw what a wider rule beside them draws
 * in the same way. Mapnik would try them all with each object, and legends would list them.
 */

/** Number of rules before and after a rule that it is compared with: of longer styles some redundant rules remain. */
const mostCompared = 1_000;

/** A rule with the conditions that its objects all meet. */
interface Reach {
  readonly rule: Rule;
  readonly conditions: readonly Condition[];
  readonly least: number;
  readonly most: number;
  /** What it draws, to be compared. */
  readonly draws: string;
}

/**
 * The rules without those whose objects an earlier one takes first, or a later one would draw alike, at all their scales.
 * @param rules of a style of which only the first rule that takes an object draws it, in that order
 */
export function withoutRedundant(rules: readonly Rule[]): Rule[] {
  if (rules.length < 2) return [...rules];
  const reaches = rules.map(reachOf);
  const kept: Reach[] = [];
  for (const [index, one] of reaches.entries()) {
    if (!isTaken(one, kept) && !isDrawnAlike(one, reaches, index + 1)) kept.push(one);
  }
  return kept.map(({ rule }) => rule);
}

const reachOf = (rule: Rule): Reach => ({
  rule,
  conditions: conditionsOf(rule.filter === undefined ? undefined : parseExpression(rule.filter)),
  least: rule.minScaleDenominator ?? 0,
  most: rule.maxScaleDenominator ?? Number.POSITIVE_INFINITY,
  draws: JSON.stringify(rule.symbolizers),
});

/** Whether one of the rules before takes all objects of this one. */
function isTaken(one: Reach, before: readonly Reach[]): boolean {
  const start = Math.max(0, before.length - mostCompared);
  for (let index = start; index < before.length; index++) if (isWithin(one, before[index]!)) return true;
  return false;
}

/** Whether one of the rules from `start` on takes all objects of this one, and none before it draws some of them otherwise. */
function isDrawnAlike(one: Reach, reaches: readonly Reach[], start: number): boolean {
  const end = Math.min(reaches.length, start + mostCompared);
  for (let index = start; index < end; index++) {
    const other = reaches[index]!;
    if (other.least >= one.most || other.most <= one.least) continue;
    if (other.draws !== one.draws) return false;
    if (isWithin(one, other)) return true;
  }
  return false;
}

const isWithin = (one: Reach, other: Reach): boolean =>
  one.least >= other.least && one.most <= other.most && meetsAll(one.conditions, other.conditions);
