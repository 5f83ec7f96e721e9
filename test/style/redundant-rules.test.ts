import t from "tap";
import type { Rule } from "../../src/style/model.js";
import { withoutRedundant } from "../../src/style/redundant-rules.js";
import { randomNumbers } from "../support/random.js";

const symbol = (width: number) => [{ type: "LineSymbolizer" as const, attributes: { width: String(width) } }];

t.test("rules in a row that draw alike become the widest of them", async (t) => {
  const rules: Rule[] = [
    { filter: "([rank] <= 3) and ([kind] = 'a')", minScaleDenominator: 50, symbolizers: symbol(1) },
    { filter: "[rank] <= 3", minScaleDenominator: 50, maxScaleDenominator: 100, symbolizers: symbol(1) },
    { filter: "[rank] <= 4", minScaleDenominator: 50, symbolizers: symbol(1) },
    { filter: "[rank] <= 5", minScaleDenominator: 70, symbolizers: symbol(1) },
    { symbolizers: symbol(2) },
  ];
  t.same(withoutRedundant(rules), rules.slice(2));
});

t.test("a rule stays where one between draws some of its objects otherwise", async (t) => {
  const rules: Rule[] = [
    { filter: "[a] = 1", symbolizers: symbol(1) },
    { filter: "[b] = 1", symbolizers: symbol(2) },
    { symbolizers: symbol(1) },
  ];
  t.same(withoutRedundant(rules), rules);
});

t.test("a rule behind one that takes all its objects is never used", async (t) => {
  const rules: Rule[] = [
    { filter: "[a] > 1", symbolizers: symbol(1) },
    { filter: "([a] > 1) and ([b] = 1)", symbolizers: symbol(2) },
    { filter: "[a] >= 2", symbolizers: symbol(3) },
    { filter: "[a] >= 1", symbolizers: symbol(4) },
  ];
  t.same(withoutRedundant(rules), [rules[0], rules[3]]);
});

const operators = ["<", "<=", "=", ">=", ">"] as const;
type Test = {
  readonly field: "a" | "b";
  readonly operator: (typeof operators)[number];
  readonly value: number;
};

function meets({ field, operator, value }: Test, object: { a: number; b: number }): boolean {
  const own = object[field];
  if (operator === "<") return own < value;
  if (operator === "<=") return own <= value;
  if (operator === "=") return own === value;
  return operator === ">=" ? own >= value : own > value;
}

t.test("of random rules the rest draws each object as all do, at each scale", async (t) => {
  const random = randomNumbers(7);
  const below = (n: number) => random() % n;
  let dropped = 0;
  for (let round = 0; round < 300; round++) {
    const tests = new Map<Rule, readonly Test[]>();
    const rules = Array.from({ length: 2 + below(10) }, () => {
      const own = Array.from({ length: below(3) }, () => ({
        field: below(2) ? ("a" as const) : ("b" as const),
        operator: operators[below(operators.length)]!,
        value: below(4),
      }));
      const least = below(3);
      const rule: Rule = {
        ...(own.length > 0 && {
          filter: own.map((one) => `([${one.field}] ${one.operator} ${one.value})`).join(" and "),
        }),
        ...(below(2) && { minScaleDenominator: least, maxScaleDenominator: least + 1 + below(3) }),
        symbolizers: symbol(below(3)),
      };
      tests.set(rule, own);
      return rule;
    });
    const drawn = (list: readonly Rule[], object: { a: number; b: number }, scale: number) =>
      list.find(
        (rule) =>
          scale >= (rule.minScaleDenominator ?? 0) &&
          scale < (rule.maxScaleDenominator ?? 99) &&
          tests.get(rule)!.every((one) => meets(one, object)),
      )?.symbolizers;
    const rest = withoutRedundant(rules);
    dropped += rules.length - rest.length;
    for (let a = -0.5; a < 5; a += 0.5)
      for (let b = -0.5; b < 5; b += 0.5)
        for (let scale = 0.5; scale < 6; scale++)
          if (JSON.stringify(drawn(rules, { a, b }, scale)) !== JSON.stringify(drawn(rest, { a, b }, scale)))
            t.fail("drawn otherwise", { rules, rest, a, b, scale });
  }
  t.ok(dropped > 300, `${dropped} rules dropped`);
});
