import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { loadExamples, type OperationExamples } from "../../src/api/request/examples.js";
import { openApi } from "../../src/api/request/openapi.js";
import { apiRoutes } from "../../src/api/routes.js";
import { measureProjects } from "../../src/catalog/disk-use.js";
import { createProject } from "../../src/catalog/projects.js";
import { startServer } from "../support/server.js";
import { walkOperations } from "./operation-examples.support.js";

/**
 * The examples of the API's description are what a server takes and answers. After a change that is meant to change them:
 * `UPDATE_REFERENCE=1 npm test -- operation-examples`, `npx biome check --write src`, `npm run build`, and a look at the difference.
 */

const file = join(process.cwd(), "src/api/request/examples.json");

const keysDir = await mkdtemp(join(tmpdir(), "mapwright-keys-"));
const secret = randomBytes(32).toString("base64url");
await mkdir(join(keysDir, "town"));
await writeFile(join(keysDir, "town", "shared.secret"), `${secret}\n`);
const server = await startServer({ config: { "external.keysDir": keysDir, "links.privateAddresses": true } });
t.teardown(async () => {
  await server.stop();
  await rm(keysDir, { recursive: true });
});
const { services } = server.nodes[0]!;
const projectId = await createProject(services.db, { code: "town", languages: ["en", "ru"] });
const password = "correct-horse";
for (const [login, role] of [
  ["anna", "admin"],
  ["boris", "viewer"],
] as const)
  await addMember(services.db, { login, password, projectId, role });
await services.db.execute("update account set is_operator = true where login = 'anna'");
await measureProjects(services.db);
await services.changes.propagate();

const walked: OperationExamples = await walkOperations({ server, secret, password });
if (process.env.UPDATE_REFERENCE) await writeFile(file, `${JSON.stringify(walked, undefined, 2)}\n`);

/** Names and types, whatever the values are: ids and times differ. Whether a value is null may depend on how fast it went. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value))
    return [...new Map(value.map((one) => [JSON.stringify(shapeOf(one)), shapeOf(one)])).values()];
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .map(([name, member]) => [name, shapeOf(member)]),
  );
}

const examples = loadExamples();

t.test("a server takes the examples, and answers as they say", async (t) => {
  t.same(Object.keys(examples).sort(), Object.keys(walked).sort());
  for (const [id, example] of Object.entries(walked)) t.same(shapeOf(examples[id]), shapeOf(example), id);
});

t.test("each operation that takes a body or answers JSON has an example", async (t) => {
  const { config } = services;
  const { paths } = openApi(apiRoutes, { server: "", config }) as {
    paths: Record<string, Record<string, any>>;
  };
  const has = (content: Record<string, { example?: unknown }> = {}) =>
    Object.values(content).some(({ example }) => example !== undefined);
  for (const { operationId, requestBody, responses } of Object.values(paths).flatMap((one) =>
    Object.values(one),
  )) {
    if (requestBody) t.ok(has(requestBody.content), `a body of ${operationId}`);
    // The description itself is no example of it.
    if (responses[200].content?.["application/json"] && operationId !== "describe")
      t.ok(has(responses[200].content), `an answer of ${operationId}`);
  }
});
