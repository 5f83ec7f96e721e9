import { openApi } from "../../../api/request/openapi.js";
import { tags } from "../../../api/request/operation.js";
import { apiRoutes } from "../../../api/routes.js";
import { loadConfig } from "../../../config.js";
import type { Page } from "../../pages.js";
import { slug } from "../markdown.js";
import { blocksOf, type Example, examplesOf, noteVariables, requestsOf } from "./examples.js";

/** The pages of the operations: what `/openapi.json` says of each, with the examples of the other pages, which tests run. */

interface Schema {
  readonly type?: string | readonly string[];
  readonly $ref?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly format?: string;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}
interface Content {
  readonly [mediaType: string]: { readonly schema?: Schema; readonly example?: unknown };
}
interface Response {
  readonly description?: string;
  readonly content?: Content;
}
interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly description: string; readonly content: Content };
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, Response>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Shown {
  readonly method: string;
  readonly path: string;
  readonly operation: Described;
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

function typeOf(schema: Schema | undefined): string {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.replace(/^.*\//, "");
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(", ");
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return [...new Set(several.map(typeOf))].filter(Boolean).join(" or ");
  if (schema.type === "array") return `array${schema.items ? ` of ${typeOf(schema.items) || "values"}` : ""}`;
  const range =
    schema.minimum !== undefined && schema.maximum !== undefined
      ? `, ${schema.minimum} to ${schema.maximum}`
      : "";
  return `${[schema.type ?? "any"].flat().join(" or ")}${range}`;
}

/** Where the description does not tell it. */
const presetOf = ({ default: preset }: Schema, description: string): string =>
  preset === undefined ||
  preset === null ||
  preset === "" ||
  typeof preset === "object" ||
  /\bdefault\b/i.test(description)
    ? ""
    : ` Default \`${preset}\`.`;

/** What tells one parameter from another of the same name. */
const identity = (parameter: Parameter): string => JSON.stringify(parameter);

/** Parameters that many operations take alike: they are told once, on the page of all operations. */
function sharedParameters(shown: readonly Shown[]): ReadonlyMap<string, Parameter> {
  const many = 20;
  const all = shown.flatMap(({ operation }) => operation.parameters ?? []);
  const times = new Map<string, number>();
  for (const one of all) times.set(identity(one), (times.get(identity(one)) ?? 0) + 1);
  return new Map(
    all
      .filter((one) => one.in !== "path" && (times.get(identity(one)) ?? 0) >= many)
      .map((one) => [identity(one), one]),
  );
}

/** Those of one operation: a table of its own ones, and the names of those that many take. */
function parametersText(parameters: readonly Parameter[], shared: ReadonlyMap<string, Parameter>): string {
  const own = parameters.filter((one) => !shared.has(identity(one)));
  const names = parameters.filter((one) => shared.has(identity(one))).map(({ name }) => `\`${name}\``);
  return [
    own.length > 0 ? parametersTable(own) : "",
    names.length > 0
      ? `${own.length > 0 ? "Also takes" : "Takes"} ${names.join(", ")}, [as many operations do](operations.md#what-many-operations-take).`
      : "",
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function parametersTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(
    ({ name, in: place, required, description = "", schema }) =>
      `| \`${name}\` | ${place}${required && place !== "path" ? ", required" : ""} | ${cell(typeOf(schema))} | ${cell(description)}${cell(presetOf(schema, description))} |`,
  );
  return `| parameter | where | type | meaning |\n|---|---|---|---|\n${rows.join("\n")}`;
}

/** Members of an object, or of the objects of an array. */
function membersOf(schema: Schema | undefined, document: Document): Schema | undefined {
  if (!schema) return undefined;
  if (schema.$ref) return membersOf(document.components.schemas[schema.$ref.replace(/^.*\//, "")], document);
  if (schema.type === "array") return membersOf(schema.items, document);
  if (schema.properties) return schema;
  for (const one of [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) {
    const found = membersOf(one, document);
    if (found) return found;
  }
  return undefined;
}

function bodyTable(content: Content, document: Document): string {
  const [, first] = Object.entries(content)[0] ?? [];
  const types = Object.keys(content)
    .map((type) => `\`${type}\``)
    .join(", ");
  const members = membersOf(first?.schema, document);
  if (!members?.properties) return `Body: ${types}.`;
  const rows = Object.entries(members.properties).map(
    ([name, schema]) =>
      `| \`${name}\` | ${members.required?.includes(name) ? "yes" : ""} | ${cell(typeOf(schema))} | ${cell(schema.description ?? "")}${cell(presetOf(schema, schema.description ?? ""))} |`,
  );
  const each = first?.schema?.type === "array" ? ", an array of" : "";
  return `Body (${types})${each}:\n\n| member | required | type | meaning |\n|---|---|---|---|\n${rows.join("\n")}`;
}

function errorsOf(responses: Described["responses"]): string {
  const statuses = Object.keys(responses).filter(
    (status) => Number(status) >= 400 && !["431", "500", "503"].includes(status),
  );
  const failure = responses[500]?.content?.["application/json"]?.schema?.allOf?.[1]?.properties?.code;
  const codes = ((failure?.enum ?? []) as string[]).filter((code) => code !== "internal");
  const links = [
    ...statuses.map((status) => `[${status}](errors.md#${status})`),
    ...codes.map((code) => `[\`${code}\`](errors.md#${code})`),
  ];
  return links.length === 0 ? "" : `Errors: ${links.join(", ")}.`;
}

/** `At most 16777216 bytes; 65536 if …` as a person would write it. */
const inUnits = (text: string): string =>
  text.replace(/\b(\d{4,})( bytes)?\b/g, (whole, digits: string) => {
    const unit = (["GiB", "MiB", "KiB"] as const).find(
      (_, at) => Number(digits) % 1024 ** (3 - at) === 0 && Number(digits) > 0,
    );
    return unit ? `${Number(digits) / { GiB: 1024 ** 3, MiB: 1024 ** 2, KiB: 1024 }[unit]} ${unit}` : whole;
  });

interface Use {
  example: Example;
  /** Those that show the operation. */
  readonly pages: Set<Page>;
}

/** Examples by operation, from the pages that show the API. */
function usesOf(pages: readonly Page[], shown: readonly Shown[]): Map<Shown, Use> {
  const found = new Map<Shown, Use>();
  const patterns = shown.map((one) => ({
    one,
    // Fixed segments before those that stand for something.
    weight: one.path.split("/").filter((part) => !part.startsWith("{")).length,
    pattern: new RegExp(
      `^${one.path
        .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
        .replace(/\{\w+\}/g, "[^/]+")
        .replace(/\/$/, "/?")}$`,
    ),
  }));
  patterns.sort((one, other) => other.weight - one.weight);
  const variables = new Map<string, string>();
  for (const page of pages)
    for (const { code } of blocksOf(page.markdown).filter(({ language }) => language === "sh"))
      for (const example of examplesOf(code)) {
        noteVariables(example.command, variables);
        for (const { method, path } of requestsOf(example.command, variables)) {
          const match = patterns.find(({ one, pattern }) => one.method === method && pattern.test(path))?.one;
          if (!match) continue;
          const known = found.get(match);
          known?.pages.add(page);
          if (!known) found.set(match, { example, pages: new Set([page]) });
          else if (known.example.answer === "" && example.answer !== "") known.example = example;
        }
      }
  return found;
}

/** An example as a block: the command, its answer below. */
const exampleText = ({ command, answer }: Example): string =>
  `\`\`\`sh\n${command}\n${answer
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => `#${line}`)
    .join("\n")}\n\`\`\``;

/** JSON with what is short on a line. */
function jsonText(value: unknown, indent = ""): string {
  const line = JSON.stringify(value);
  if (line.length + indent.length <= 100 || typeof value !== "object" || value === null) return line;
  const below = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((one) => jsonText(one, below))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${jsonText(member, below)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${parts.map((part) => below + part).join(",\n")}\n${indent}${close}`;
}

/** The example of a body or an answer in JSON, as a block. */
function jsonExample(content: Content | undefined, title: string): string {
  const shown = Object.entries(content ?? {}).find(
    ([type, { example }]) => /json$/.test(type) && example !== undefined,
  );
  return shown ? `${title}:\n\n\`\`\`json\n${jsonText(shown[1].example)}\n\`\`\`` : "";
}

/** From the pages of operations. */
const linkTo = ({ title, path }: Page): string =>
  `[${title}](${path.replace(/^reference\//, "")}.md)`.replace(/\((?=[^)]*\/)/, "(../");

/** What an operation is called on its page: with the method, where another one does the same. */
const titleOf = ({ method, operation: { summary } }: Shown, shown: readonly Shown[]): string =>
  shown.some((other) => other.method !== method && other.operation.summary === summary)
    ? `${summary} (${method})`
    : summary;

function operationText(
  one: Shown,
  title: string,
  use: Use | undefined,
  shared: ReadonlyMap<string, Parameter>,
  document: Document,
): string {
  const { operation } = one;
  const parameters = (operation.parameters ?? []).filter(({ in: place }) => place !== "path");
  const answer = operation.responses[200];
  const types = Object.keys(answer?.content ?? {}).map((type) => `\`${type}\``);
  return [
    `### ${title}`,
    `\`${one.method} ${one.path}\``,
    operation.description ?? "",
    operation.security === undefined || operation.security.some((way) => Object.keys(way).length === 0)
      ? ""
      : "Needs a session.",
    use ? `More: ${[...use.pages].map(linkTo).join(", ")}.` : "",
    parametersText(parameters, shared),
    operation.requestBody ? bodyTable(operation.requestBody.content, document) : "",
    inUnits(operation.requestBody?.description ?? ""),
    jsonExample(operation.requestBody?.content, "A body"),
    `Answer: ${answer?.description ?? ""}${types.length > 0 ? ` (${types.join(", ")})` : ""}`,
    jsonExample(answer?.content, "An answer"),
    use ? exampleText(use.example) : "",
    errorsOf(operation.responses),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

export interface OperationPages {
  /** By path of the page. */
  readonly pages: ReadonlyMap<string, string>;
  /** Those without an example, as `PUT /api/2.8/{project}/…`. */
  readonly without: readonly string[];
}

/** @param pages that hold the examples */
export function operationPages(pages: readonly Page[]): OperationPages {
  const config = loadConfig({ environment: {} });
  const document = openApi(apiRoutes, { server: "", config }) as unknown as Document;
  const shown = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const uses = usesOf(pages, shown);
  const shared = sharedParameters(shown);
  const made = new Map<string, string>();
  const lists: string[] = [];
  for (const tag of tags) {
    const own = shown.filter(({ operation }) => operation.tags.includes(tag));
    const name = `operations-${slug(tag)}`;
    const rows = own.map((one) => {
      const title = titleOf(one, own);
      return `| ${one.method} | \`${one.path}\` | [${title}](${name}.md#${slug(title)}) |`;
    });
    lists.push(`## ${tag}\n\n| method | path | what it does |\n|---|---|---|\n${rows.join("\n")}`);
    const texts = own.map((one) => operationText(one, titleOf(one, own), uses.get(one), shared, document));
    made.set(
      `reference/${name}`,
      `# Operations: ${tag}\n\nThe operations of the group *${tag}*, each with its parameters, body, answer, errors and an example.\n\nThe examples are those of the [API pages](api-basics.md#prepare-the-examples), where the names in them are set: \`$API\` is the address of a project, \`$MAP\` of a map, \`$T\` of a layer with trees, and \`$AUTH\` the header with the token. Every answer may also be [431, 500 or 503](errors.md#statuses).\n\n${texts.join("\n\n")}\n`,
    );
  }
  made.set(
    "reference/operations",
    `# Operations

<!-- words: rest api, endpoints, http, openapi, swagger, requests -->

All operations of the REST API. The same, to be tried in the browser, is [the page of the API](/docs/api/); for programs it is
[openapi.json](/openapi.json). How to begin: [the API, from the start](api-basics.md).

${lists.join("\n\n")}

## What many operations take

${parametersTable([...shared.values()])}
`,
  );
  return {
    pages: made,
    without: shown.filter((one) => !uses.has(one)).map(({ method, path }) => `${method} ${path}`),
  };
}
