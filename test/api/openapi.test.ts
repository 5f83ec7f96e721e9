import { Validator } from "@seriousme/openapi-schema-validator";
import t from "tap";
import { openApi } from "../../src/api/request/openapi.js";
import { apiRoutes } from "../../src/api/routes.js";
import { loadConfig } from "../../src/config.js";
import { compressed } from "../../src/http/compress.js";
import { kindNumbers } from "../../src/visual/kinds.js";
import { startServer } from "../support/server.js";
import { type ContractLine, contract, extensions } from "./contract.support.js";

/** The API's description beside the contract's tables, and beside OpenAPI's own rules. */

const config = loadConfig({ environment: {}, flags: {} });
const document = openApi(apiRoutes, { server: "https://maps.example.org/geo", config }) as any;

/** Operations by method and path, `P` for what the paths of the contract begin with. */
const described = new Map<string, any>();
for (const [path, methods] of Object.entries<any>(document.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    described.set(`${method.toUpperCase()} ${path.replace(/^\/api\/2\.8\/\{project\}/, "P")}`, operation);
  }
}

const resolve = (schema: any): any =>
  schema?.$ref ? document.components.schemas[schema.$ref.split("/").at(-1)] : schema;

t.test("a legend may be of each kind of visualizations", async (t) => {
  const [numbers] = document.components.schemas.Legend.properties.type.anyOf;
  t.same(JSON.stringify(numbers).match(/\d+/g)?.map(Number), kindNumbers);
});

t.test("the description is a valid OpenAPI 3.1 document", async (t) => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  t.ok(result.valid, JSON.stringify(result.errors, null, 1)?.slice(0, 3000));
  t.equal(validator.version, "3.1");
  const ids = [...described.values()].map(({ operationId }) => operationId);
  t.equal(new Set(ids).size, ids.length, "operation ids are unique");
  for (const [key, operation] of described) {
    t.ok(operation.summary.length > 3, `${key} has a summary`);
    t.ok(operation.responses["431"], `${key} may be asked with too many headers`);
    for (const { name, description, schema } of operation.parameters ?? []) {
      t.ok(description?.length > 3 && schema, `${key}: ${name} says what it is`);
    }
  }
});

t.test("every operation of the contract is described, and nothing else but the known extensions", (t) => {
  t.same([...described.keys()].sort(), [...Object.keys(contract), ...extensions].sort());
  t.end();
});

/** Names of body fields that a description has, over all its media types, required ones with `!`. */
function bodyFields(operation: any): Map<string, boolean> {
  const found = new Map<string, boolean>();
  for (const { schema } of Object.values<any>(operation.requestBody?.content ?? {})) {
    const whole = resolve(schema);
    const object = whole.type === "array" ? resolve(whole.items) : whole;
    for (const name of Object.keys(object.properties ?? {})) {
      found.set(name, (object.required ?? []).includes(name));
    }
  }
  return found;
}

/** The answer as a line of the contract names it. */
function answerOf(operation: any): string[] {
  const { content } = operation.responses["200"];
  const names = (schema: any): string => {
    if (schema.$ref) return schema.$ref.split("/").at(-1);
    if (schema.type === "array") return `${names(schema.items)}[]`;
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) {
      return choices
        .map(names)
        .filter((name: string) => name !== "null")
        .join("|");
    }
    if ("const" in schema) return String(schema.const);
    return schema.type;
  };
  return Object.entries<any>(content).flatMap(([type, { schema }]) =>
    type === "application/json" ? [names(schema)] : [type],
  );
}

for (const [key, line] of Object.entries<ContractLine>(contract)) {
  t.test(`${key} is described as the contract has it`, (t) => {
    const operation = described.get(key);
    if (!operation) {
      t.fail("it is not described");
      return t.end();
    }
    const parameters = (place: string): string[] =>
      (operation.parameters ?? []).filter((one: any) => one.in === place).map((one: any) => one.name);
    for (const name of line.query ?? []) t.ok(parameters("query").includes(name), `query: ${name}`);
    for (const name of line.headers ?? []) t.ok(parameters("header").includes(name), `header: ${name}`);
    const fields = bodyFields(operation);
    for (const name of line.body ?? []) {
      const isRequired = name.endsWith("!");
      const plain = name.replace("!", "");
      t.ok(fields.has(plain), `body: ${plain}`);
      if (isRequired) t.ok(fields.get(plain), `${plain} is required`);
    }
    const [anonymous] = operation.security ?? [{}];
    t.equal(Object.keys(anonymous).length > 0, line.token === true, "whether a token is required");
    t.ok(answerOf(operation).includes(line.answer), `answers ${line.answer}, not ${answerOf(operation)}`);
    t.end();
  });
}

t.test("the server gives out its description under its public address", async (t) => {
  const server = await startServer({ config: { baseUrl: "https://maps.example.org/geo" } });
  t.teardown(() => server.stop());
  const answer = await fetch(`${server.url}/openapi.json`);
  t.equal(answer.status, 200);
  t.same(await answer.json(), JSON.parse(JSON.stringify(document)));
  await t.test("compressed once, and asked for again by its ETag", async (t) => {
    const ask = (headers: Record<string, string>) => fetch(`${server.url}/openapi.json`, { headers });
    const plain = await ask({ "accept-encoding": "identity" });
    const text = await plain.text();
    for (const encoding of ["br", "gzip"]) {
      const answer = await ask({ "accept-encoding": encoding });
      t.equal(answer.headers.get("content-encoding"), encoding);
      t.match(answer.headers.get("vary"), /accept-encoding/i);
      t.equal(await answer.text(), text);
      const etag = answer.headers.get("etag")!;
      t.not(etag, plain.headers.get("etag"));
      t.equal((await ask({ "accept-encoding": encoding, "if-none-match": etag })).status, 304);
    }
    const body = Buffer.from("the same bytes ".repeat(1_000));
    t.equal(compressed(body), compressed(body), "bytes that stay are compressed once");
    const [one, other] = await Promise.all([compressed(body), compressed(Buffer.from(body))]);
    t.same(one, other);
  });
});
