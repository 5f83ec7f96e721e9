import { layerTable } from "../catalog/layer-table.js";

/** SQL text and the values of its placeholders `$1`, `$2` … */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Collects the values of placeholders while SQL is built. */
export class Values {
  readonly list: unknown[] = [];

  /** Adds a value; returns its placeholder. */
  bind(value: unknown): string {
    return `$${this.list.push(value)}`;
  }
}

/** For statements that cannot have placeholders, such as CREATE VIEW: values become literals in the SQL text. */
export class Constants extends Values {
  override bind(value: unknown): string {
    if (value === null || value === undefined) return "null";
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
      throw new Error("Only strings, numbers and booleans can be constants.");
    return literal(String(value));
  }
}

/**
 * A string literal, for JSON keys: the SQL text is the same for each request, so that prepared statements are reused.
 * Requires standard_conforming_strings, PostgreSQL's default.
 */
export const literal = (text: string): string => `'${text.replaceAll("'", "''").replaceAll("\0", "")}'`;

// A PostgreSQL function takes at most 100 arguments.
const maxArguments = 90;

/** SQL that concatenates parts; null counts as "". (Measured: json_build_object takes 1.6 times as long.) */
export function concat(parts: readonly string[]): string {
  if (parts.length <= maxArguments) return `concat(${parts.join(",")})`;
  const groups: string[] = [];
  for (let at = 0; at < parts.length; at += maxArguments)
    groups.push(concat(parts.slice(at, at + maxArguments)));
  return concat(groups);
}

export { layerTable };
