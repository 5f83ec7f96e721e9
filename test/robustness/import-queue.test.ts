import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import { startServer, waitFor } from "../support/server.js";
import { collection, feature } from "../support/transfer.js";

/** One account sends more imports than its project may, and others import as well. */

const server = await startServer();
t.teardown(() => server.stop());
const { db, transfer } = server.nodes[0]!.services;
const projectId = await createProject(db, { code: "q", languages: ["en"] });
await addMember(db, { login: "other", password: "otherother", projectId, role: "admin" });

const post = async (path: string, token: string | undefined, body: unknown) => {
  const answer = await fetch(`${server.url}/api/2.8/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token ? { "x-token": token } : {}) },
    body: JSON.stringify(body),
  });
  return { status: answer.status, json: (await answer.json()) as { token: string } };
};
const other = (await post("q/login/", undefined, { user: "other", pass: "otherother" })).json.token;
const ownToken = await server.token("admin");
for (const [project, token] of [
  ["p", ownToken],
  ["q", other],
] as const) {
  await post(`${project}/`, token, { code: "m" });
  await post(`${project}/m/layers/`, token, { code: "l" });
}
const rows = collection(feature({ a: 1 }));

t.test("the imports of one project leave room and turns to those of others", async (t) => {
  // It gets a file and does not come to it.
  await transfer.whenReady();
  process.kill(transfer.pid!, "SIGSTOP");
  const ended: string[] = [];
  const start = async (project: string, token: string) => {
    const { status } = await post(`${project}/m/layers/l/import/?dry_run=1`, token, rows);
    ended.push(`${project} ${status}`);
  };
  const many = Array.from({ length: 80 }, () => start("p", ownToken));
  await waitFor(() => ended.length === 80 - 12);
  t.ok(
    ended.every((one) => one === "p 503"),
    "those beyond its share are refused",
  );
  // The others may still be on their way to the host.
  await waitFor(() => transfer.counts().waiting === 11);
  t.same(transfer.counts(), { waiting: 11, running: 1, restarts: 0, refused: 0 });
  await start("q", other);
  t.equal(ended.at(-1), "q 200", "a file of another project is read beside");
  t.equal(ended.filter((text) => text === "p 200").length, 0);
  process.kill(transfer.pid!, "SIGCONT");
  await Promise.all(many);
  t.equal(ended.filter((text) => text === "p 200").length, 12);
});

t.test("the long jobs of one project keep those of others waiting for none", async (t) => {
  const { rows: tables } = await server.sql.query(
    "select n.id from node n join map m on m.id = n.map_id join project p on p.id = m.project_id where p.code = 'p' and n.code = 'l'",
  );
  const path = (project: string) => `${project}/m/layers/l/import/`;
  const start = async (project: string, token: string) => {
    const { status, json } = await post(`${path(project)}?async=1`, token, rows);
    t.equal(status, 202);
    return (json as unknown as { id: string }).id;
  };
  const stateOf = async (project: string, token: string, id: string) => {
    const answer = await fetch(`${server.url}/api/2.8/${path(project)}${id}/`, {
      headers: { "x-token": token },
    });
    return ((await answer.json()) as { state: string }).state;
  };
  await server.sql.query(`begin; lock table layers.l${tables[0].id} in access exclusive mode`);
  const own: string[] = [];
  try {
    for (let job = 0; job < 8; job++) own.push(await start("p", ownToken));
    const one = await start("q", other);
    await waitFor(async () => (await stateOf("q", other, one)) === "done");
    for (const id of own) t.equal(await stateOf("p", ownToken, id), "running");
  } finally {
    await server.sql.query("rollback");
  }
  await waitFor(async () => (await stateOf("p", ownToken, own.at(-1)!)) === "done");
});
