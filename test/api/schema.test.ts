import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import t from "tap";
import type { z } from "zod";
import * as field from "../../src/api/request/schema/fields.js";
import { nameFields, nameOf } from "../../src/api/request/schema/names.js";
import { reader } from "../../src/api/request/schema/read.js";
import {
  type JsonSchema,
  jsonSchema,
  type Members,
  objectSchema,
} from "../../src/api/request/schema/schema.js";
import { columnFields, newColumnFields } from "../../src/api/resources/column-fields.js";
import { apiRoutes } from "../../src/api/routes.js";
import { checkCode, checkColumnCode } from "../../src/catalog/codes.js";
import type { ColumnType } from "../../src/column-types/column-types.js";
import { Failure } from "../../src/errors.js";
import { readFormat } from "../../src/features/format-settings.js";

/** The JSON Schemas of the API's description beside the readers that they describe. */

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
addFormats.default(ajv);

/** Whether the schema allows a value. */
const allows = (schema: JsonSchema, value: unknown): boolean => ajv.validate(schema, value);

/** The value that a member gives. */
const readMember = (member: z.ZodType, name: string, given: unknown): any =>
  reader({ [name]: member })({ get: () => given })[name];

const readFields = (members: Members, given: Record<string, unknown>) =>
  reader(members)(field.fieldsOf(given));

/** The value that a reader gives, or the failure that it refuses with. */
function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

const operations = apiRoutes;

/** What a parameter's schema allows, as far as it says so by examples. */
function allowed({ enum: words, default: otherwise, examples, ...schema }: any): unknown[] {
  const found = [...(words ?? []), ...(examples ?? []), ...(otherwise === undefined ? [] : [otherwise])];
  if (schema.type === "integer") {
    const least = schema.minimum ?? 0;
    found.push(least, least + 1, schema.maximum ?? least + 1_000);
  }
  if (schema.type === "boolean") found.push(true, false);
  return found;
}

/** Texts that it forbids. */
function forbidden({ enum: words, pattern, ...schema }: any): string[] {
  const found: string[] = [];
  if (words) found.push("no such word", "-1", "1.5", `${words[0]}${words[0]}`);
  if (pattern) found.push("§", "a b", "';--", "../a");
  if (schema.type === "integer") {
    found.push("1.5", "x", "1 or 1=1", "NaN", "9".repeat(30));
    if (schema.minimum !== undefined) found.push(String(schema.minimum - 1));
    if (schema.maximum !== undefined) found.push(String(schema.maximum + 1));
  }
  return found;
}

/** Words that are looked at where they are used, with a code of their own. */
const refusedLater = new Set(["exportLayer format", "exportTiles format"]);

t.test("parameters of every operation are read as their schemas have them", async (t) => {
  for (const { description, query, headers } of operations) {
    for (const [name, parameter] of Object.entries({ ...query, ...headers })) {
      const schema = jsonSchema(parameter);
      const read = (given: unknown) => readMember(parameter, name, given);
      const label = `${description.id} ${name}`;
      t.doesNotThrow(() => ajv.compile(schema), `${label}: a schema`);
      for (const value of allowed(schema)) {
        t.ok(allows(schema, value), `${label}: its schema allows ${value}`);
        const given = outcome(() => read(String(value)));
        t.notOk(given instanceof Failure, `${label}: ${value} is read`);
      }
      if (schema.default !== undefined) {
        const absent = read(undefined);
        t.same(absent, read(String(schema.default)), `${label}: its default is what absence gives`);
        t.same(absent, read(""), `${label}: empty counts as absent`);
      }
      if (refusedLater.has(label)) continue;
      for (const text of forbidden(schema)) {
        const given = outcome(() => read(text));
        t.ok(given instanceof Failure, `${label}: ${text.slice(0, 40)} is refused`);
      }
    }
  }
});

t.test("schemas of bodies are schemas", async (t) => {
  const lenient = new Ajv2020({ strict: false });
  addFormats.default(lenient);
  for (const { description, body } of operations) {
    for (const [type, schema] of Object.entries(body?.content ?? {})) {
      t.ok(lenient.validateSchema(schema), `${description.id} ${type}`);
    }
  }
});

type Read = (given: unknown) => unknown;
interface Case {
  readonly member: z.ZodType;
  /** Where the member's own is not all that looks at a value. */
  readonly read?: Read;
  readonly allowed: readonly unknown[];
  readonly forbidden: readonly unknown[];
}

const names = { language: "en", main: "en" };
const notTexts = [5, true, [], {}];
const notNumbers = ["x", true, [], {}, [1]];
const notFlags = ["yes", 2, -1, [], {}];

const cases: Readonly<Record<string, Case>> = {
  text: { member: field.text("-"), allowed: ["", "a", "Имя"], forbidden: [...notTexts, "x".repeat(10_001)] },
  code: {
    member: field.code("-"),
    read: (given) => checkCode(readMember(field.code("-").optional(), "code", given) ?? ""),
    allowed: ["a", "A-1_b", "x".repeat(64)],
    forbidden: [...notTexts, "", "a b", "я", "x".repeat(65), "a\n"],
  },
  number: { member: field.number("-"), allowed: [0, -1.5, 1e300], forbidden: notNumbers },
  integer: { member: field.integer("-"), allowed: [0, -3, 12], forbidden: [...notNumbers, 1.5] },
  flag: { member: field.flag("-"), allowed: [true, false], forbidden: notFlags },
  "flag with a default": {
    member: field.flag("-").default(true),
    allowed: [true, false],
    forbidden: notFlags,
  },
  parent: { member: field.parent("-"), allowed: [0, 12], forbidden: [...notNumbers, 1.5] },
  "needed parent": { member: field.neededParent("-"), allowed: [0, 12], forbidden: [...notNumbers, 1.5] },
  style: { member: field.style("-"), allowed: ["", "#a { line-width: 1 }"], forbidden: notTexts },
  name: {
    member: nameFields.name,
    read: (name) => nameOf({ name, localized_name: undefined }, names),
    allowed: ["", "a", { en: "a", ru: "б", "sr-Latn": "c" }, {}],
    forbidden: [5, true, [], ["a"], { en: 5 }, { "not a language": "a" }, "x".repeat(10_001)],
  },
  localized_name: { member: nameFields.localized_name, allowed: [true, false], forbidden: notFlags },
  "type of a column": {
    member: columnFields.type,
    allowed: ["number", "string", "text", "datetime", "bool", "file", "title", "json", "geom", "timestamp"],
    forbidden: [...notTexts, "", "varchar", "Number"],
  },
  "code of a column": {
    member: newColumnFields.code,
    read: (given) => checkColumnCode(readMember(newColumnFields.code, "code", given)),
    allowed: ["a", "_1", "x".repeat(44)],
    forbidden: [...notTexts, "", "1a", "a-b", "я", "x".repeat(45)],
  },
  "sort of a column": { member: columnFields.sort, allowed: [0, 1, 2.5], forbidden: notNumbers },
  "parent of a column": {
    member: columnFields.parent_id,
    allowed: [0, 2 ** 31 - 1],
    forbidden: [...notNumbers, 1.5, 2 ** 31],
  },
  "format of a column": {
    member: columnFields.format,
    read: (given) => given && readFormat(given, (given as { kind?: ColumnType }).kind ?? "number"),
    allowed: [
      null,
      { kind: "number" },
      { kind: "number", decimals: 2, grouping: true, prefix: { en: "a" }, suffix: " м²" },
      { kind: "datetime", pattern: "dd.MM.yyyy HH:mm" },
      { kind: "datetime", pattern: { en: "MM/dd/yyyy", ru: "dd.MM.yyyy" } },
      { kind: "bool" },
      { kind: "bool", true: "да", false: { en: "no" } },
    ],
    forbidden: [
      5,
      "number",
      [],
      {},
      { kind: "text" },
      { kind: "number", decimals: -1 },
      { kind: "number", decimals: 21 },
      { kind: "number", decimals: 1.5 },
      { kind: "number", grouping: 1 },
      { kind: "number", prefix: 5 },
      { kind: "datetime" },
      { kind: "datetime", pattern: ["dd"] },
      { kind: "bool", true: { en: 5 } },
    ],
  },
};

for (const [label, { member, read, allowed, forbidden }] of Object.entries(cases)) {
  t.test(`fields of bodies: ${label}`, async (t) => {
    const read1: Read = read ?? ((given) => readMember(member, "field", given));
    const text = (value: unknown) => JSON.stringify(value).slice(0, 60);
    const schema = jsonSchema(member);
    for (const value of allowed) {
      t.ok(allows(schema, value), `the schema allows ${text(value)}`);
      t.notOk(outcome(() => read1(value)) instanceof Failure, `${text(value)} is read`);
    }
    for (const value of forbidden) {
      t.notOk(allows(schema, value), `the schema forbids ${text(value)}`);
      t.ok(outcome(() => read1(value)) instanceof Failure, `${text(value)} is refused`);
    }
    if ("default" in schema) t.equal(readMember(member, "field", undefined), schema.default);
  });
}

t.test("members that the schema of an object requires are refused when they are not there", async (t) => {
  const members = {
    a: field.text("-"),
    b: field.text("-").optional(),
    c: field.number("-"),
    parent_id: field.neededParent("-"),
  };
  const schema = objectSchema(members);
  t.same(schema.required, ["a", "c", "parent_id"]);
  const whole = { a: "x", c: 1, parent_id: 0 };
  t.ok(allows(schema, whole));
  t.same(readFields(members, whole), { ...whole, b: undefined });
  for (const name of ["a", "c", "parent_id"]) {
    const { [name]: _, ...rest } = whole as Record<string, unknown>;
    t.notOk(allows(schema, rest), `the schema requires ${name}`);
    t.ok(outcome(() => readFields(members, rest)) instanceof Failure, `${name} is missed`);
  }
  const none = outcome(() => readFields(members, { parent_id: 0 }));
  t.match(none, { code: "required_parameters", data: { required: ["a", "c"] } });
  t.ok(allows(schema, { ...whole, unknown: 1 }), "unknown members are ignored");
});
