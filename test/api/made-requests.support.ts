import { randomNumbers } from "../support/random.js";

/** Requests made from the API's description: right ones, and damaged ones. The same for the same seed. */

export type Schema = any;

/** Numbers from 0 to 1, the same for the same seed. */
export function random(seed: number): () => number {
  const next = randomNumbers(seed);
  return () => next() / 2 ** 32;
}

export interface MadeRequest {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string | FormData | File;
}

/** Values that mean something in the world that requests are sent to, by the names of parameters and fields. */
export type Known = Readonly<Record<string, readonly unknown[]>>;

/** Texts for the patterns that schemas have. */
const samples: readonly string[] = ["#12abEF", "en", "ru", "a1", "0", "0.png"];

const oddTexts = [
  "",
  "abc",
  "-1",
  "0",
  "1.5",
  "1e400",
  "NaN",
  "9".repeat(320),
  "a\0b",
  "' or 1=1--",
  '"; drop table map; --',
  "null",
  "[]",
  "{}",
  "true",
  "\u{1f4a5}",
  "__proto__",
  "constructor",
  "../../etc/passwd",
  "%",
  "a".repeat(300),
];

const oddValues: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1.5,
  1e308,
  2 ** 60,
  "",
  "x",
  "a\0b",
  "\ud800",
  "x".repeat(20_000),
  [],
  [[]],
  [null],
  {},
  { type: "Point" },
  { type: "Point", coordinates: ["a", null] },
  { "": {} },
  JSON.parse('{"__proto__": {"a": 1}, "constructor": 1}'),
];

export class RequestMaker {
  constructor(
    private readonly document: Schema,
    private readonly next: () => number,
    private readonly known: Known,
  ) {}

  private chance(probability: number): boolean {
    return this.next() < probability;
  }

  private pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!;
  }

  private knows(name: string): boolean {
    return (this.known[name]?.length ?? 0) > 0;
  }

  private resolve(schema: Schema): Schema {
    return schema.$ref ? this.document.components.schemas[schema.$ref.split("/").at(-1)] : schema;
  }

  /** A value that the schema allows; with `full`, all members and none but values that mean something. */
  value(given: Schema, name: string, full: boolean, depth = 0): unknown {
    const schema = this.resolve(given);
    const known = this.known[name]?.filter((one) => fits(one, schema)) ?? [];
    if (known.length > 0 && (full || this.chance(0.7))) return full ? known[0] : this.pick(known);
    if ("const" in schema) return schema.const;
    if (schema.enum) return full ? (schema.default ?? schema.enum[0]) : this.pick(schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return this.value(full ? choices[0] : this.pick(choices), name, full, depth);
    if (schema.examples && this.chance(0.5)) return this.pick(schema.examples);
    const type = Array.isArray(schema.type) ? this.pick(schema.type) : schema.type;
    switch (type) {
      case "integer":
      case "number": {
        const least =
          schema.minimum ?? (schema.exclusiveMinimum !== undefined ? schema.exclusiveMinimum + 1 : 0);
        const most = schema.maximum ?? schema.exclusiveMaximum ?? least + 100;
        if (full && schema.default !== undefined) return schema.default;
        return least + Math.floor(this.next() * (Math.min(most, least + 1_000) - least + 1));
      }
      case "boolean":
        return this.chance(0.5);
      case "null":
        return null;
      case "array": {
        const count = Math.max(schema.minItems ?? 0, full ? 1 : Math.floor(this.next() * 3));
        return Array.from({ length: count }, () => this.value(schema.items ?? {}, name, full, depth + 1));
      }
      case "object": {
        const required = new Set<string>(schema.required ?? []);
        const entries = Object.entries<Schema>(schema.properties ?? {})
          .filter(([key]) => required.has(key) || (full ? this.knows(key) : this.chance(0.5)))
          .map(([key, one]) => [key, this.value(one, key, full, depth + 1)]);
        return Object.fromEntries(entries);
      }
      case "string":
        return this.text(schema);
      default:
        return this.pick<unknown>(["x", 1, true, null]);
    }
  }

  private text(schema: Schema): string {
    if (schema.format === "uuid") return "00000000-0000-4000-8000-000000000000";
    if (schema.pattern) {
      const fitting = samples.find((one) => new RegExp(schema.pattern, "u").test(one));
      if (fitting === undefined) throw new Error(`no sample for the pattern ${schema.pattern}`);
      return fitting;
    }
    const text = this.pick(["a", "Straße", "Имя", "x y", "0", "1,2", "地図"]);
    return text.padEnd(schema.minLength ?? 0, "x");
  }

  /**
   * A request to an operation.
   * @param damage 0 = as the description has it, all members known; 1 = so, with any values and members; 2 = damaged
   */
  request(path: string, operation: Schema, damage: 0 | 1 | 2): MadeRequest {
    const full = damage === 0;
    const headers: Record<string, string> = {};
    const query: string[] = [];
    let filled = path;
    /** What is damaged: the path, the query or the body. */
    const places = ["path", "query", ...(operation.requestBody ? ["body", "body"] : [])];
    const damaged = damage === 2 ? this.pick(places) : undefined;
    for (const { name, in: place, schema, required } of operation.parameters ?? []) {
      if (place === "path") {
        const odd = damaged === "path" && this.chance(0.5);
        const value = odd ? this.pick(oddTexts) || "-" : String(this.value(schema, name, true));
        filled = filled.replace(`{${name}}`, encodeURIComponent(value));
      } else if (place === "header") {
        if (name in this.known) headers[name] = String(this.pick(this.known[name]!));
      } else if (required || (full ? this.knows(name) : this.chance(0.4))) {
        const odd = damaged === "query" && this.chance(0.6);
        const text = odd ? this.pick(oddTexts) : textOf(this.value(schema, name, full));
        query.push(`${encodeURIComponent(name)}=${encodeURIComponent(text)}`);
      }
    }
    if (damaged === "query" && this.chance(0.1))
      query.push(this.pick(["a=%ff", "a=%", "%00=1", "=&&&==", "a=%c0%af"]));
    const body =
      operation.requestBody && this.body(operation.requestBody.content, headers, full, damaged === "body");
    return {
      path: query.length > 0 ? `${filled}?${query.join("&")}` : filled,
      headers,
      ...(body === undefined ? {} : { body }),
    };
  }

  private body(
    content: Readonly<Record<string, { schema: Schema }>>,
    headers: Record<string, string>,
    full: boolean,
    damaged: boolean,
  ): MadeRequest["body"] {
    const types = Object.keys(content);
    const type = full ? types[0]! : this.pick(types);
    let value = this.value(content[type]!.schema, "", full);
    if (damaged) value = this.damaged(value);
    const entries = Object.entries(typeof value === "object" && value !== null ? value : { value });
    if (type === "multipart/form-data") {
      const form = new FormData();
      for (const [name, item] of entries) form.append(name, item instanceof File ? item : textOf(item));
      return form;
    }
    headers["content-type"] = type;
    if (type === "application/x-www-form-urlencoded") {
      return entries
        .map(([name, item]) => `${encodeURIComponent(name)}=${encodeURIComponent(wellFormed(textOf(item)))}`)
        .join("&");
    }
    if (value instanceof File || typeof value === "string") return value;
    const text = JSON.stringify(value);
    if (!damaged || this.chance(0.8)) return text;
    return this.pick([
      text.slice(0, -1),
      `${text}}`,
      "",
      "null",
      "[]",
      '"text"',
      "1e999",
      `${"[".repeat(5_000)}`,
      `{"a":${'{"a":'.repeat(300)}1${"}".repeat(300)}}`,
      text.replace("{", '{"__proto__":{"x":1},'),
      text.replace("{", '{"a":1e999,'),
      "\ufffd\0",
    ]);
  }

  /** The value with one part of it, at any depth, replaced by what does not belong there. */
  private damaged(value: unknown): unknown {
    if (value instanceof File || typeof value !== "object" || value === null || this.chance(0.2)) {
      return this.pick(oddValues);
    }
    const keys = Object.keys(value);
    if (keys.length === 0) return this.pick(oddValues);
    const key = this.pick(keys);
    const copy: any = Array.isArray(value) ? [...value] : { ...value };
    if (this.chance(0.15)) delete copy[key];
    else copy[key] = this.damaged(copy[key]);
    return copy;
  }
}

/** Without halves of surrogate pairs, which no encoding of a URL has. */
const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, "?");

/** Whether a value is of the kind that a schema asks for; one name can stand for different things. */
function fits(value: unknown, schema: Schema): boolean {
  if (value instanceof File || schema.format === "binary") {
    return value instanceof File && schema.format === "binary";
  }
  const choices: Schema[] = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.some((one) => fits(value, one));
  if (schema.enum) return schema.enum.includes(value);
  const kind = Array.isArray(value) ? "array" : typeof value;
  const types: string[] = [schema.type ?? kind].flat();
  return types.includes(kind) || (types.includes("integer") && kind === "number");
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "" : (JSON.stringify(value) ?? "");
