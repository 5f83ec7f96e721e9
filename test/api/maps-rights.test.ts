import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { setGrant } from "../../src/access/grants.js";
import { setPublication } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { startServer } from "../support/server.js";

/** Who may do what with maps, folders and the publication tree: a table of endpoints, callers and maps. */

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const { services } = server.nodes[0]!;
const admin = await server.token("admin");
const project = await services.catalog.project("p");

/** A map with a folder and a layer in it; gives the layer's id. */
async function makeMap(code: string): Promise<number> {
  await api("POST", "", { token: admin, body: { code } });
  const folder = await api("POST", `${code}/folders/`, { token: admin, body: { code: "f" } });
  const body = { code: "l", parent_id: folder.json.id };
  const layer = await api("POST", `${code}/layers/`, { token: admin, body });
  if (code === "closed") {
    await setPublication(services.db, project.id, code, false);
    await services.changes.propagate();
  }
  return layer.json.id;
}
const layers = { open: await makeMap("open"), closed: await makeMap("closed") };

/** An administrator of another project. */
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
  "made-up token": "A".repeat(43),
  public: undefined,
  stranger: await strangerToken(),
  viewer: await server.token("viewer"),
  editor: await server.token("editor"),
  admin,
} as const;
type Who = keyof typeof tokens;

/** `user`: whoever reads, with a token. */
type Need = "read" | "user" | "edit" | "admin";

const endpoints: { method: string; path: string; need: Need; body?: (map: "open" | "closed") => unknown }[] =
  [
    { method: "GET", path: "M/", need: "read" },
    { method: "GET", path: "M/layers/", need: "read" },
    { method: "GET", path: "M/layers/?type=full", need: "read" },
    { method: "GET", path: "maps/available/", need: "user" },
    { method: "GET", path: "maps/public/", need: "admin" },
    { method: "POST", path: "", need: "edit", body: () => ({ code: `m${++made}` }) },
    { method: "POST", path: "M/folders/", need: "edit", body: () => ({}) },
    { method: "GET", path: "M/folders/f/", need: "user" },
    { method: "PUT", path: "M/folders/f/", need: "edit", body: () => ({ parent_id: 0 }) },
    { method: "PATCH", path: "M/folders/f/", need: "edit", body: () => ({ parent_id: 0 }) },
    {
      method: "POST",
      path: "M/publish/",
      need: "edit",
      body: (map) => [{ id: 1, parent_id: 0, map_layer_id: layers[map] }],
    },
    { method: "DELETE", path: "M/folders/f/", need: "edit" },
  ];
let made = 0;

function expected(who: Who, need: Need, isOpen: boolean): number {
  if (who === "made-up token") return 401;
  if (who === "stranger") return 403;
  if (who === "public") return need !== "read" ? 401 : isOpen ? 200 : 403;
  const least = { read: 0, user: 0, edit: 1, admin: 2 }[need];
  return ["viewer", "editor", "admin"].indexOf(who) >= least ? 200 : 403;
}

t.test("every endpoint answers every caller as the rights say", async (t) => {
  for (const map of ["open", "closed"] as const) {
    for (const { method, path, need, body } of endpoints) {
      for (const who of Object.keys(tokens) as Who[]) {
        const address = path.replace("M", map);
        const answer = await api(method, address, { token: tokens[who], body: body?.(map) });
        const repeated = method === "DELETE" && who === "admin";
        const wanted = repeated ? 404 : expected(who, need, map === "open");
        t.equal(answer.status, wanted, `${method} ${address} by ${who}`);
        if (tokens[who] && answer.status === 200) {
          t.match(answer.headers.get("cache-control"), /no-store/, "kept by nobody");
        }
      }
    }
  }
});

t.test("a right on the structure of one map is one on that map alone", async (t) => {
  await makeMap("granted");
  await makeMap("other");
  const create = async (map: string, who: Who) =>
    (await api("POST", `${map}/folders/`, { token: tokens[who], body: {} })).status;
  const give = async (login: string | null, rights: number, layer?: string) => {
    await setGrant(services.db, { project: "p", map: "granted", layer, login }, rights);
    await services.changes.propagate();
  };
  await give("viewer", 5);
  t.equal(await create("granted", "viewer"), 200);
  t.equal(await create("other", "viewer"), 403);
  t.equal((await api("POST", "", { token: tokens.viewer, body: { code: "no" } })).status, 403);
  await give("viewer", 1);
  await give("viewer", 15, "l");
  t.equal(await create("granted", "viewer"), 403, "a layer's rights are none on the map");
  const answer = await api("DELETE", "granted/folders/f/", { token: tokens.viewer });
  t.equal(answer.status, 403);
  await give(null, 5);
  t.equal(await create("granted", "public"), 401, "the public edits nothing");
});
