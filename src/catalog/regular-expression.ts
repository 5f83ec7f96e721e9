import type { Queryable } from "../storage/postgres.js";

/** Regular expressions of users, which PostgreSQL runs (as POSIX AREs). */

/** In UTF-16 units. */
export const maxExpressionLength = 1_000;

/** Statement timeout for the regular expressions of one request. */
export const patternTimeoutMs = 1_000;

const backReference = /(?<!\\)(?:\\\\)*\\[1-9]/;
const lookaround = /\(\?<?[=!]/g;

/**
 * Whether matching is at most quadratic in a value's length. With back references or nested lookarounds, a value of some
 * kilobytes can take years. The check is conservative: text that only looks like one of them counts as one, since only
 * PostgreSQL parses expressions exactly.
 */
export const isLinearTimePattern = (expression: string): boolean =>
  !backReference.test(expression) && (expression.match(lookaround)?.length ?? 0) <= 1;

/** Characters of a value that an expression with a lookaround sees: its time is quadratic in their number. */
const seenCharacters = 10_000;

/** SQL of the text that the expression is matched against. @param text SQL */
export const seenText = (text: string, expression: string): string =>
  expression.search(lookaround) < 0 ? text : `left(${text}, ${seenCharacters})`;

/** The expression, anchored to match the whole value. */
export const wholeValue = (expression: string): string => `^(?:${expression})$`;

/**
 * Whether PostgreSQL can compile all expressions within the statement timeout of `tx`.
 */
export async function canCompile(tx: Queryable, expressions: readonly string[]): Promise<boolean> {
  if (expressions.length === 0) return true;
  // Each expression also without the parentheses of `wholeValue`, which could hide unbalanced ones.
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
