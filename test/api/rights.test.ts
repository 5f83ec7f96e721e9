import t from "tap";
import { addMember } from "../../src/catalog/accounts.js";
import { setGrant } from "../../src/catalog/grants.js";
import { setPublication } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { startServer } from "../support/server.js";

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const { services } = server.nodes[0]!;
const admin = await server.token("admin");
const project = await services.catalog.project("p");

for (const code of ["open", "closed"]) {
  const map = await api("POST", "", { token: admin, body: { code } });
  await api("POST", `${code}/layers/`, { token: admin, body: { code: "l" } });
  for (let i = 0; i < 2; i++) {
    await api("POST", `${code}/layers/l/objects/`, {
      token: admin,
      body: { fields: {}, geom: { type: "Point", coordinates: [1, 2] } },
    });
  }
  if (code === "closed") {
    await setPublication(services.db, project.id, code, false);
    await services.changes.settle({ maps: [map.json.id] });
  }
}

/** A user of another project, and what is no token at all. */
async function strangerToken(): Promise<string> {
  const id = await createProject(services.db, { code: "elsewhere" });
  await addMember(services.db, { login: "stranger", password: "stranger", projectId: id, role: "admin" });
  const answer = await fetch(`${server.url}/api/2.8/elsewhere/login/`, {
    method: "POST",
    body: new URLSearchParams({ user: "stranger", pass: "stranger" }),
  });
  return ((await answer.json()) as { token: string }).token;
}

const tokens = {
  public: undefined,
  viewer: await server.token("viewer"),
  editor: await server.token("editor"),
  admin,
  stranger: await strangerToken(),
  "made-up token": "A".repeat(43),
} as const;
type Who = keyof typeof tokens;

/** Who may: everybody who reads, editors, administrators. */
type Need = "read" | "edit" | "admin";
interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly need: Need;
  readonly body?: unknown;
}
const endpoints: Endpoint[] = [
  { method: "GET", path: "M/", need: "read" },
  { method: "GET", path: "M/layers/", need: "read" },
  { method: "GET", path: "M/layers/?type=full&returnBbox=1&returnCss=1", need: "read" },
  { method: "GET", path: "M/layers/l/", need: "read" },
  { method: "GET", path: "M/layers/l/objects/", need: "read" },
  { method: "GET", path: "M/layers/l/objects/1/", need: "read" },
  { method: "GET", path: "M/layers/l/count/", need: "read" },
  { method: "POST", path: "M/layers/l/filter/", need: "read", body: {} },
  { method: "PATCH", path: "M/layers/l/", need: "edit", body: { parent_id: 0 } },
  { method: "PUT", path: "M/layers/l/", need: "edit", body: { parent_id: 0 } },
  { method: "POST", path: "M/layers/", need: "edit", body: {} },
  { method: "POST", path: "M/layers/l/objects/", need: "edit", body: { fields: {} } },
  { method: "PUT", path: "M/layers/l/objects/1/", need: "edit", body: { fields: {} } },
  {
    method: "PUT",
    path: "M/layers/l/objects/1/geom/",
    need: "edit",
    body: { type: "Point", coordinates: [1, 2] },
  },
  { method: "DELETE", path: "M/layers/l/objects/2/", need: "edit" },
  { method: "DELETE", path: "M/layers/l/", need: "edit" },
];

function expected(who: Who, need: Need, published: boolean): number {
  if (who === "made-up token") return 401;
  if (who === "stranger") return 403;
  if (who === "public") return need === "read" ? (published ? 200 : 403) : 401;
  const order = ["viewer", "editor", "admin"];
  return order.indexOf(who) >= ["read", "edit", "admin"].indexOf(need) ? 200 : 403;
}

t.test("every endpoint answers every caller as the rights say", async (t) => {
  for (const map of ["open", "closed"]) {
    for (const { method, path, need, body } of endpoints) {
      // Those who may not come first, so that a deletion comes last.
      for (const who of ["made-up token", "stranger", "public", "viewer", "editor", "admin"] as const) {
        const answer = await api(method, path.replace("M", map), { token: tokens[who], body });
        const repeated = method === "DELETE" && who === "admin";
        const wanted = repeated ? 404 : expected(who, need, map === "open");
        t.equal(answer.status, wanted, `${method} ${path.replace("M", map)} by ${who}`);
        if (tokens[who] && answer.status === 200) {
          t.match(answer.headers.get("cache-control"), /no-store/, "kept by nobody");
        }
      }
    }
  }
});

t.test("grants open and close what roles do not", async (t) => {
  await api("POST", "open/layers/", { token: admin, body: { code: "granted" } });
  await api("POST", "open/layers/", { token: admin, body: { code: "others" } });
  const give = async (login: string | null, rights: number | undefined, layer?: string) => {
    await setGrant(services.db, { project: "p", map: "open", layer, login }, rights);
    await services.changes.settle({ projects: [project.id] });
  };
  const create = async (layer: string, token: string | undefined) =>
    (await api("POST", `open/layers/${layer}/objects/`, { token, body: { fields: {} } })).status;

  await give("viewer", 3, "granted");
  t.equal(await create("granted", tokens.viewer), 200);
  t.equal(await create("others", tokens.viewer), 403);
  t.equal((await api("DELETE", "open/layers/granted/", { token: tokens.viewer })).status, 403);

  await give("editor", 1, "granted");
  t.equal(await create("granted", tokens.editor), 403);
  t.equal(await create("others", tokens.editor), 200);
  await give("editor", undefined, "granted");
  t.equal(await create("granted", tokens.editor), 200);

  await give(null, 3);
  t.equal(await create("others", undefined), 401, "editing needs a session");
  t.equal(await create("others", tokens.viewer), 200, "which then has the public's rights too");
  await give(null, 0);
  t.equal((await api("GET", "open/")).status, 403);
  t.equal((await api("GET", "open/", { token: tokens.viewer })).status, 200);
});
