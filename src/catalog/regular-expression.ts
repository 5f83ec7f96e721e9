import type { Queryable } from "../storage/postgres.js";

/** Regular expressions that users write and PostgreSQL runs, in its own dialect (ARE). */

/** Longest one, in UTF-16 units. */
export const longestExpression = 1_000;

/** How long PostgreSQL may take over the regular expressions of one request. */
export const patternTimeoutMs = 1_000;

const backReference = /(?<!\\)(?:\\\\)*\\[1-9]/;
const lookaround = /\(\?<?[=!]/g;

/**
 * Whether matching takes time that grows with the square of a value's length at most. With back references, or with
 * lookarounds inside others, a value of some kilobytes can take years. What only looks like one counts as one, so that
 * nothing depends on reading an expression as PostgreSQL does.
 */
export const isLinearTimePattern = (expression: string): boolean =>
  !backReference.test(expression) && (expression.match(lookaround)?.length ?? 0) <= 1;

/** An expression is for the whole value. */
export const wholeValue = (expression: string): string => `^(?:${expression})$`;

/**
 * Whether PostgreSQL can compile all of them within the time that `tx` leaves a statement. Without expressions
 * nothing is asked.
 */
export async function canCompile(tx: Queryable, expressions: readonly string[]): Promise<boolean> {
  if (expressions.length === 0) return true;
  // By themselves too: brackets of their own could otherwise pair with ours.
  const forms = expressions.flatMap((expression) => [expression, wholeValue(expression)]);
  await tx.execute("savepoint expressions");
  try {
    await tx.query("select bool_or('' ~ form) from unnest($1::text[]) form", [forms]);
  } catch (error) {
    const code = (error as { code?: string }).code;
    // 2201B invalid_regular_expression, 57014 query_canceled
    if (code !== "2201B" && code !== "57014") throw error;
    await tx.execute("rollback to savepoint expressions");
    return false;
  }
  await tx.execute("release savepoint expressions");
  return true;
}
