import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import t from "tap";
import { buildProgram, runProgram } from "../../src/commands/program.js";
import { startServer, waitFor } from "../support/server.js";

const server = await startServer();
const folder = await mkdtemp(join(tmpdir(), "mapwright-search-"));
t.teardown(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

t.test("a node makes the indexes of what a command imports, unasked", async (t) => {
  const { config } = server.nodes[0]!.services;
  await server.api("POST", "", { token: await server.token("editor"), body: { code: "m" } });
  const file = join(folder, "towns.geojsonl");
  const town = (place: number) => ({
    type: "Feature",
    properties: { name: `Town ${place}` },
    geometry: { type: "Point", coordinates: [place / 100, 1] },
  });
  await writeFile(file, Array.from({ length: 3_000 }, (_, i) => JSON.stringify(town(i))).join("\n"));
  const env = {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    variables: {
      DATABASE_URL: config.databaseUrl,
      MAPWRIGHT_DATABASE_DIRECT_URL: config.databaseDirectUrl,
      REDIS_URL: config.redisUrl,
    },
  };
  const program = await buildProgram(env);
  t.equal(await runProgram(program, env, ["import", "p", "m", "towns", file]), 0);
  const indexes = async () =>
    (
      await server.sql.query(
        `select count(*)::int as count from pg_class c join pg_index i on i.indexrelid = c.oid
         where c.relnamespace = 'layers'::regnamespace and relname ~ '^s[0-9]+_' and indisvalid`,
      )
    ).rows[0].count;
  await waitFor(async () => (await indexes()) === 2);
  t.match((await server.api("GET", "m/search/?phrase=town%2077")).json, [{ value: "Town 77", priority: 30 }]);
});
