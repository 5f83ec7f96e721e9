import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import { startServer, waitFor } from "../support/server.js";

/** Exports that are written by GDAL: what one project's takes keeps no other project waiting. */

const server = await startServer();
t.teardown(() => server.stop());
const { db, files } = server.nodes[0]!.services;
const projectId = await createProject(db, { code: "q", languages: ["en"] });
await addMember(db, { login: "quinn", password: "quinn-quinn", projectId, role: "admin" });

const call = async (
  project: string,
  method: string,
  path: string,
  options: { token?: string; body?: unknown } = {},
) => {
  const answer = await fetch(`${server.url}/api/2.8/${project}/${path}`, {
    method,
    headers: {
      ...(options.token !== undefined && { "x-token": options.token }),
      ...(options.body !== undefined && { "content-type": "application/json" }),
    },
    ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
  });
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
};
for (const [project, user, pass] of [
  ["p", "admin", "adminadmin"],
  ["q", "quinn", "quinn-quinn"],
] as const) {
  const { token } = JSON.parse(
    (await call(project, "POST", "login/", { body: { user, pass } })).bytes.toString(),
  );
  await call(project, "POST", "", { token, body: { code: "m" } });
  await call(project, "POST", "m/layers/", { token, body: { code: "l" } });
  const geom = { type: "Point", coordinates: [1, 2] };
  await call(project, "POST", "m/layers/l/objects/", { token, body: { fields: {}, geom } });
}
const exported = (project: string) => call(project, "GET", "m/layers/l/export/?format=gpkg");

t.test("a project whose export stands still keeps no other waiting, and has no second place", async (t) => {
  t.equal((await exported("p")).status, 200, "the process is there");
  const pid = files.host.pid!;
  process.kill(pid, "SIGSTOP");
  const still = exported("p");
  await waitFor(() => files.host.counts().running === 1);
  const next = exported("p");
  await waitFor(() => files.host.counts().waiting === 1);
  t.equal((await exported("q")).status, 200);
  t.match(files.host.counts(), { running: 1, waiting: 1 });
  process.kill(pid, "SIGCONT");
  t.equal((await still).status, 200);
  t.equal((await next).status, 200);
});
