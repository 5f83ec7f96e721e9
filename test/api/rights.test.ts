import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { startServer } from "../support/server.js";

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const { services } = server.nodes[0]!;
const admin = await server.token("admin");

await api("POST", "", { token: admin, body: { code: "open" } });
const tokens = { viewer: await server.token("viewer"), editor: await server.token("editor") };

t.test("grants open and close what roles do not", async (t) => {
  await api("POST", "open/layers/", { token: admin, body: { code: "granted" } });
  await api("POST", "open/layers/", { token: admin, body: { code: "others" } });
  const give = async (login: string | null, rights: number | undefined, layer?: string) => {
    await setGrant(services.db, { project: "p", map: "open", layer, login }, rights);
    await services.changes.propagate();
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
