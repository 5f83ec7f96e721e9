import pg from "pg";
import t from "tap";
import type { Database } from "../../src/storage/postgres.js";
import { makeLayer } from "../support/layers.js";
import { startServer, type TestServer } from "../support/server.js";
import { changeUses } from "../support/uses.js";

/**
 * Many projects whose maps are looked at in turn, so that a cache that is too small for all of them holds none when its
 * turn comes: what a request costs must not depend on how many there are. What is counted is statements, not time.
 */

const projects = 1_500;
/** Those whose map has a layer; the others' are empty. */
const withLayers = 100;

/** Texts of the statements about catalogue, versions and objects that a node sends; what it does by itself aside. */
function counted(database: Database): string[] {
  const statements: string[] = [];
  changeUses(database, (db) => {
    const query = db.query.bind(db);
    return {
      query: (text, ...rest) => {
        if (!text.includes("project_id = 0")) statements.push(text);
        return query(text, ...rest);
      },
    };
  });
  return statements;
}

async function makeProjects(server: TestServer): Promise<void> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  await client.query("set search_path = mapwright, public");
  await client.query("begin");
  for (let number = 0; number < withLayers; number++) await makeLayer(client, `r${number}`);
  await client.query(
    `with made as (
       insert into project (code) select 'r' || n from generate_series($1::int, $2::int) n returning id)
     insert into map (project_id, code) select id, 'm' from made`,
    [withLayers, projects - 1],
  );
  await client.query("commit");
  await client.end();
  await server.nodes[0]!.services.changes.propagate();
}

for (const { name, bytes, mostStatements } of [
  { name: "all of which are remembered", bytes: 64 * 1024 ** 2, mostStatements: 0 },
  // The project, the map, and versions of layers that nobody holds any more.
  { name: "of which few are remembered", bytes: 32 * 1024, mostStatements: 3 },
]) {
  t.test(`${projects} projects, ${name}`, async (t) => {
    const server = await startServer({ config: { "catalog.memoryBytes": bytes } });
    t.teardown(() => server.stop());
    await makeProjects(server);
    const { db, tiles } = server.nodes[0]!.services;
    const statements = counted(db);
    /** Statements for each request, and all renders, when so many maps are looked at in turn by some clients. */
    const look = async (maps: number, round: string) => {
      const drawn = tiles.rendered;
      statements.length = 0;
      let next = 0;
      const client = async () => {
        while (next < maps) {
          const answer = await fetch(`${server.url}/tms/r${next++}/m/?x=0&y=0&z=0&base=0&n=${round}`);
          await answer.arrayBuffer();
          if (answer.status !== 200) throw new Error(`${answer.status}`);
        }
      };
      await Promise.all(Array.from({ length: 8 }, client));
      return { each: statements.length / maps, drawn: tiles.rendered - drawn };
    };
    const first = await look(projects, "first");
    t.ok(first.each <= 3, `${first.each} statements at first`);
    t.equal(first.drawn, withLayers + 1, "what looks the same is drawn once");
    for (const hot of [64, 500, projects]) {
      // Addresses of their own, which no answer is kept for.
      const { each, drawn } = await look(hot, `${hot}`);
      // What the node asks by itself now and then is a share of one.
      t.ok(each < mostStatements + 0.1, `${hot} in turn: ${each} statements for a request`);
      t.equal(drawn, 0, `${hot} in turn: nothing is drawn again`);
    }
    const { each } = await look(projects, `${projects}`);
    t.equal(each, 0, "answers that are kept for their addresses ask nothing, whatever is forgotten");
  });
}
