import t from "tap";
import { mayRead } from "../../src/access/rights.js";
import type { CatalogCache } from "../../src/catalog/catalog.js";
import { type Caller, publicCaller } from "../../src/catalog/state.js";
import type { Database } from "../../src/storage/postgres.js";
import { PublicMaps } from "../../src/viewer/public-maps.js";
import { randomNumbers } from "../support/random.js";
import { startServer, waitFor } from "../support/server.js";
import { sentStatements } from "../support/uses.js";

/** The lists of maps that anybody may ask for, one of each project: what is on them, and what they cost. */

const server = await startServer();
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const { db } = services;
const catalog = services.catalog as CatalogCache;

interface Listed {
  readonly code: string;
  readonly maps: readonly { code: string; name: string; isPrivate: boolean }[];
}
const ask = (query = "", headers: Record<string, string> = {}) =>
  fetch(`${server.url}/viewer/maps.json${query}`, { headers });
const list = async (query = "", headers: Record<string, string> = {}) =>
  (await (await ask(query, headers)).json()) as Listed[];
const named = (projects: readonly Listed[]) =>
  projects.flatMap(({ code, maps }) => maps.map((map) => `${code}/${map.code}`)).sort();

/** Statements that the node sends to its database from now on. */
const counted = (database: Database): string[] => sentStatements(database, t.teardown);

const heard = new Set<number | undefined>();
const hear = catalog.projectChanged.bind(catalog);
catalog.projectChanged = (id) => {
  heard.add(id);
  hear(id);
};

/** Waits until the node has heard of everything that was changed so far. */
async function allHeard(): Promise<void> {
  // Notifications come in the order of the changes.
  const { rows } = await server.sql.query(
    "insert into project (code) values (gen_random_uuid()) returning id",
  );
  await waitFor(() => heard.has(rows[0].id));
}

const random = randomNumbers(7);
const below = (count: number) => random() % count;

/** Projects r0, r1, … with maps of both kinds, layers, a hidden one among them, and any grants. */
async function makeRandomProjects(count: number): Promise<void> {
  const accounts = (await server.sql.query("select id from account order by id")).rows.map(({ id }) => id);
  for (let number = 0; number < count; number++) {
    const { rows } = await server.sql.query(
      "insert into project (code, languages, hidden) values ($1, '{en}', $2) returning id",
      [`r${number}`, number === 3],
    );
    const project = rows[0].id;
    const places: [map: number | null, layer: number | null][] = [[null, null]];
    for (const code of ["a", "b", "c"]) {
      const published = below(4) > 0;
      const map = await server.sql.query(
        "insert into map (project_id, code, has_publication) values ($1, $2, $3) returning id",
        [project, code, published],
      );
      places.push([map.rows[0].id, null]);
      for (const name of ["l", "m"]) {
        const node = await server.sql.query(
          "insert into node (map_id, type, code) values ($1, 'layer', $2) returning id",
          [map.rows[0].id, name],
        );
        await server.sql.query("insert into layer (id) values ($1)", [node.rows[0].id]);
        places.push([map.rows[0].id, node.rows[0].id]);
      }
    }
    for (const account of accounts)
      await server.sql.query("insert into membership (project_id, account_id, role) values ($1, $2, $3)", [
        project,
        account,
        ["viewer", "editor", "admin"][below(3)],
      ]);
    for (let grants = below(8); grants > 0; grants--) {
      await server.sql.query(
        `insert into access_grant (project_id, map_id, layer_id, account_id, rights) values ($1, $2, $3, $4, $5)
         on conflict do nothing`,
        [
          project,
          ...places[below(places.length)]!,
          below(3) > 0 ? null : accounts[below(accounts.length)],
          [0, 0, 1, 2, 3][below(5)],
        ],
      );
    }
  }
}

t.test("it has the maps that may be read, over any grants, and hidden projects never", async (t) => {
  const projects = 60;
  await makeRandomProjects(projects);
  const readable = async (caller: (project: number) => Caller, code: string) => {
    const maps: string[] = [];
    for (const map of ["a", "b", "c"]) {
      const state = await catalog.map(code, map);
      if (mayRead(state, caller(state.project.id))) maps.push(`${code}/${map}`);
    }
    return maps;
  };
  const all = async () => {
    const expected: string[] = [];
    for (let number = 0; number < projects; number++)
      if (number !== 3) expected.push(...(await readable(() => publicCaller, `r${number}`)));
    return expected.sort();
  };
  const listed = async () => {
    const found: Listed[] = [];
    for (let number = 0; number < projects; number++) found.push(...(await list(`?project=r${number}`)));
    return found;
  };
  await allHeard();
  const shown = await listed();
  t.same(named(shown), await all());
  t.ok(named(shown).length > projects / 2, `${named(shown).length} maps`);
  t.ok(shown.length < projects - 1, "some projects have no public map");
  t.notOk(shown.some(({ code, maps }) => code === "r3" || maps.length === 0));
  t.notOk(shown.some(({ maps }) => maps.some(({ isPrivate }) => isPrivate)));
  t.same(
    named(await list()),
    named(shown.slice(0, 1)),
    "without a project those of the first, and of no other",
  );

  // With `project`, what the caller may see.
  const password = "viewerviewer";
  const [viewer] = (await server.sql.query("select id from account where login = 'viewer'")).rows;
  for (let number = 0; number < projects; number++) {
    const code = `r${number}`;
    const login = () =>
      fetch(`${server.url}/api/2.8/${code}/login/`, {
        method: "POST",
        body: new URLSearchParams({ user: "viewer", pass: password }),
      });
    if (number === 3) {
      t.equal((await login()).status, 500, "there is no hidden project");
      t.same(await list(`?project=${code}`), []);
      continue;
    }
    const open = await readable(() => publicCaller, code);
    t.same(named(await list(`?project=${code}`)), open, `${code} for the public`);
    if (number > 20) continue;
    const { token } = (await (await login()).json()) as { token: string };
    const own = await list(`?project=${code}`, { "x-token": token });
    const caller = (projectId: number): Caller => ({ accountId: viewer.id, login: "viewer", projectId });
    t.same(named(own), await readable(caller, code), `${code} for a user`);
    t.equal(own.length, 1, "whose project is there with or without maps");
  }
});

t.test(
  "with more projects than the node keeps, a change costs one statement and a request none",
  async (t) => {
    await server.sql.query(
      `with made as (insert into project (code) select 'many' || n from generate_series(1, 1500) n returning id)
     insert into map (project_id, code, name) select id, 'm', 'Map' from made`,
    );
    await waitFor(async () => (await list("?project=many1500")).length === 1);
    const token = await server.token("editor");
    const made = await server.api("POST", "", { token, body: { code: "own" } });
    await server.api("POST", "own/layers/", { token, body: { code: "l" } });
    const { id } = (await server.api("POST", "own/layers/l/objects/", { token, body: { fields: {} } })).json;
    const getObject = () => server.api("GET", `own/layers/l/objects/${id}/`);
    await allHeard();
    await getObject();
    await list("?project=p");
    const statements = counted(db);
    await getObject();
    const ofObject = statements.splice(0).length;
    t.ok(ofObject >= 1);

    await Promise.all(Array.from({ length: 40 }, (_, at) => list(`?project=many${at + 1}`)));
    t.same(statements.splice(0), [], "nothing has changed: nothing is read");
    for (const name of ["One", "Two"]) {
      await server.sql.query("update map set name = $1 where id = $2", [name, made.json.id]);
      await allHeard();
      statements.splice(0);
      const lists = await Promise.all(Array.from({ length: 20 }, () => list("?project=p")));
      t.equal(statements.splice(0).length, 1, "requests at the same time share a reading");
      for (const one of lists)
        t.equal(one.find(({ code }) => code === "p")?.maps.find(({ code }) => code === "own")?.name, name);
    }
    await getObject();
    statements.splice(0);
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 8 }, () => list("?project=p")));
      await getObject();
    }
    t.equal(statements.splice(0).length, 5 * ofObject, "what others read stays as cheap as it was");
  },
);

t.test("it is asked for again by its ETag", async (t) => {
  const first = await ask("?project=p&lng=ru");
  const etag = first.headers.get("etag")!;
  t.match(first.headers.get("content-type"), /^application\/json/);
  t.equal(first.headers.get("cache-control"), "no-cache");
  t.equal((await ask("?project=p&lng=ru", { "if-none-match": etag })).status, 304);
  await server.sql.query(
    `update map set localized_name = true, names = '{"ru": "Карта"}' where code = 'own'`,
  );
  await waitFor(async () => (await ask("?project=p&lng=ru", { "if-none-match": etag })).status === 200);
  const russian = (await ask("?project=p&lng=ru")).headers.get("etag");
  t.equal(
    (await ask("?project=p&lng=en", { "if-none-match": russian! })).status,
    304,
    "no name is English: the same list",
  );
  await server.sql.query(`update map set names = '{"ru": "Карта", "en": "Map"}' where code = 'own'`);
  await waitFor(async () => (await ask("?project=p&lng=en", { "if-none-match": russian! })).status === 200);
  t.not(
    (await ask("?project=p&lng=en")).headers.get("etag"),
    (await ask("?project=p&lng=ru")).headers.get("etag"),
  );
});

t.test("while the node does not hear of changes every request is answered with what is there", async (t) => {
  let trusted = false;
  const maps = new PublicMaps(db, () => trusted);
  const nameOf = async () => {
    const listed = JSON.parse(String((await maps.list("en", "many1")).body)) as Listed[];
    return listed[0]?.maps[0]?.name;
  };
  const rename = (name: string) =>
    server.sql.query(
      "update map m set name = $1 from project p where p.id = m.project_id and p.code = 'many1'",
      [name],
    );
  const statements = counted(db);
  await rename("a");
  t.equal(await nameOf(), "a");
  await rename("b");
  const running = nameOf();
  await rename("c");
  t.same(
    await Promise.all([nameOf(), nameOf(), nameOf()]),
    ["c", "c", "c"],
    "not what a reading before them had",
  );
  t.match(await running, /^[bc]$/);
  t.ok(statements.length <= 4, "those who waited shared a reading");
  trusted = true;
  maps.catalogueChanged();
  statements.splice(0);
  await Promise.all([nameOf(), nameOf()]);
  await nameOf();
  t.equal(statements.length, 1);
});

t.test("a reading that fails is not kept", async (t) => {
  let failing = true;
  const failOnce = {
    ...db,
    query: async (...args: Parameters<Database["query"]>) => {
      if (failing) throw new Error("away");
      return db.query(...args);
    },
  } as Database;
  const maps = new PublicMaps(failOnce, () => true);
  await t.rejects(Promise.all([maps.list("en"), maps.list("en")]), { message: "away" });
  failing = false;
  t.match(JSON.parse(String((await maps.list("en", "many1")).body)), [{ code: "many1" }]);
});
