import sharp from "sharp";
import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { setGrant } from "../../src/access/grants.js";
import { setOperator } from "../../src/access/operators.js";
import { viewerRoutesOf } from "../../src/api/resources/viewer.js";
import { apiRoutes } from "../../src/api/routes.js";
import type { Services } from "../../src/api/services.js";
import { routesOf } from "../../src/api/versions/older.js";
import { version20 } from "../../src/api/versions/v20.js";
import { version22 } from "../../src/api/versions/v22.js";
import { addColumns } from "../../src/catalog/columns.js";
import { setPublication } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { Right } from "../../src/catalog/state.js";
import type { Route } from "../../src/http/types.js";
import { loadViewerFiles } from "../../src/viewer/files.js";
import { bodyOf } from "../support/answers.js";
import { blockFont } from "../support/fonts.js";
import { square } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { type Endpoint, endpoints, type Makers, type Need, type Place } from "./rights-table.support.js";

/**
 * Every endpoint × caller × published or not, and with foreign parts in its path: each status follows from one line
 * of a table. Those who may not are asked first, and after that nothing in the database may have changed.
 */

const server = await startServer();
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const { db } = services;
const admin = await server.token("admin");
const project = await services.catalog.project("p");

type MapCode = "open" | "closed";
const mapCodes: readonly MapCode[] = ["open", "closed"];

/** Effective rights on the project and, for each map, on it and on its layer; undefined: not of this project. */
interface Rights {
  readonly project: number;
  readonly open: readonly [map: number, layer: number];
  readonly closed: readonly [map: number, layer: number];
}
const everywhere = (rights: number): Rights => ({
  project: rights,
  open: [rights, rights],
  closed: [rights, rights],
});
const callers = {
  public: { project: 0, open: [1, 1], closed: [0, 0] },
  viewer: everywhere(1),
  editor: everywhere(7),
  admin: everywhere(15),
  /** A viewer who may edit the objects of one layer. */
  lent: { project: 1, open: [1, 3], closed: [1, 1] },
  /** A viewer from whom one layer is kept. */
  screened: { project: 1, open: [1, 0], closed: [1, 1] },
  /** An editor who was given nothing at all on the project. */
  barred: everywhere(0),
  /** An administrator of another project. */
  stranger: undefined,
  "made-up token": undefined,
} as const satisfies Record<string, Rights | undefined>;
type Who = keyof typeof callers;
const everybody = Object.keys(callers) as Who[];

const otherProject = await createProject(db, { code: "elsewhere" });
const accounts = new Map<string, number>();
for (const [login, role, projectId] of [
  ["lent", "viewer", project.id],
  ["screened", "viewer", project.id],
  ["barred", "editor", project.id],
  ["stranger", "admin", otherProject],
] as const) {
  accounts.set(login, (await addMember(db, { login, password: login, projectId, role })).id);
}
for (const login of ["viewer", "editor", "admin"]) {
  const [row] = await db.query<{ id: number }>("select id from account where login = $1", [login]);
  accounts.set(login, row!.id);
}

await setOperator(db, accounts.get("admin")!, true);

/** A session for one request, since some requests end theirs. */
async function tokenOf(who: Who): Promise<string | undefined> {
  if (who === "public") return undefined;
  if (who === "made-up token") return "A".repeat(43);
  const projectId = who === "stranger" ? otherProject : project.id;
  return services.sessions.open({
    accountId: accounts.get(who)!,
    login: who,
    projectId,
    origin: "api",
    isByPassword: true,
  });
}

async function must(method: string, path: string, body?: unknown) {
  const answer = await server.api(method, path, { token: admin, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
}
const point = { type: "Point", coordinates: [1, 2] };

let codes = 0;
/** Makes things in a map for one request. */
function makersFor(map: MapCode): Makers {
  const code = () => `made${++codes}`;
  return {
    code,
    map: async () => (await must("POST", "", { code: code() })).code,
    folder: async () => (await must("POST", `${map}/folders/`, {})).code,
    layer: async () => (await must("POST", `${map}/layers/`, {})).code,
    column: async () => {
      const made = code();
      await addColumn(map, made, "string");
      return made;
    },
    object: async () => String((await must("POST", `${map}/layers/l/objects/`, { fields: {} })).id),
    area: async () => {
      const body = { fields: {}, geom: square(0, 0, 10) };
      return String((await must("POST", `${map}/layers/l/objects/`, body)).id);
    },
    file: async () => String((await attach(map, fixtures[map].object!)).id),
    picture: () => forStyles("pictures", `${code()}.png`, picture),
    member: async () =>
      String((await must("POST", "members/", { login: code(), password: "correct-horse" })).id),
    key: async () => String((await must("POST", "keys/", { name: code() })).id),
    change: async () => {
      await must("POST", `${map}/layers/l/objects/`, { fields: {} });
      return String((await must("GET", `${map}/layers/l/history/?limit=1`)).entries[0].id);
    },
    named: async () => {
      const { code: layer } = await must("POST", `${map}/layers/`, {});
      await must("PATCH", `${map}/layers/${layer}/`, { parent_id: 0, name: code() });
      return String((await must("GET", "history/?limit=1")).entries[0].id);
    },
    deleted: async () => {
      const { code: layer } = await must("POST", `${map}/layers/`, {});
      await must("DELETE", `${map}/layers/${layer}/`);
      return String((await must("GET", "bin/?limit=1")).entries[0].id);
    },
    font: () => forStyles("fonts", `${code()}.otf`, blockFont({ family: "Any" })),
  };
}

async function forStyles(kind: "pictures" | "fonts", path: string, file: Buffer): Promise<string> {
  const answer = await fetch(`${server.url}/api/2.8/p/${kind}/${path}`, {
    method: "PUT",
    headers: { "x-token": admin },
    body: file as never,
  });
  if (answer.status !== 200) throw new Error(`${kind}: ${answer.status} ${await answer.text()}`);
  return path;
}

async function addColumn(map: MapCode, code: string, type: "string" | "file"): Promise<void> {
  const layer = (await services.catalog.map("p", map)).layers.get("l")!;
  await db.transaction((tx) => addColumns(tx, layer.id, [{ code, type }]));
  await services.changes.propagate();
}

async function attach(map: MapCode, object: string): Promise<{ id: number; uuid: string }> {
  const form = new FormData();
  form.set("field", "f");
  form.set("file", new File([picture as never], "a.png"));
  const answer = await fetch(`${server.url}/api/2.8/p/${map}/layers/l/objects/${object}/files/`, {
    method: "POST",
    headers: { "x-token": admin },
    body: form,
  });
  if (answer.status !== 200) throw new Error(`file: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as { id: number; uuid: string };
}

const picture = await sharp({ create: { width: 2, height: 2, channels: 3, background: "red" } })
  .png()
  .toBuffer();
/** Parts of paths that exist, by map. */
const fixtures = { open: {}, closed: {} } as Record<MapCode, Record<string, string>>;
for (const map of mapCodes) {
  await must("POST", "", { code: map });
  await must("POST", `${map}/layers/`, { code: "l" });
  await must("POST", `${map}/layers/`, { code: `only_${map}` });
  await must("POST", `${map}/folders/`, { code: "d" });
  await must("POST", `${map}/folders/`, { code: `only_${map}` });
  await addColumn(map, "c", "string");
  await addColumn(map, "f", "file");
  const object = String((await must("POST", `${map}/layers/l/objects/`, { fields: {}, geom: point })).id);
  const file = await attach(map, object);
  fixtures[map] = {
    map,
    layer: "l",
    folder: "d",
    column: "c",
    object,
    file: file.uuid,
    fileId: String(file.id),
    job: "none",
    entry: "999999999",
  };
  if (map === "closed") await setPublication(db, project.id, map, false);
  await services.changes.propagate();
}
await db.query("insert into map (project_id, code) values ($1, 'theirs') returning id", [otherProject]);
await setGrant(db, { project: "p", login: "lent", map: "open", layer: "l" }, 3);
await setGrant(db, { project: "p", login: "screened", map: "open", layer: "l" }, 0);
await setGrant(db, { project: "p", login: "barred" }, 0);
await services.changes.propagate();

/** Parts of a path that name nothing, or something of another map or project. */
const foreign = (map: MapCode, deletes: boolean): Record<string, readonly string[]> => ({
  map: ["nowhere", "theirs", "__proto__", "constructor"],
  layer: [`only_${otherThan(map)}`, "nowhere", "d", "__proto__"],
  folder: [`only_${otherThan(map)}`, "nowhere", "l", "__proto__"],
  column: ["nowhere", "__proto__"],
  object: ["987654321"],
  file: deletes
    ? ["987654321", fixtures[otherThan(map)].fileId!]
    : ["987654321", "00000000-0000-4000-8000-000000000000"],
});

const otherThan = (map: MapCode): MapCode => (map === "open" ? "closed" : "open");

interface Case {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly path: string;
  readonly place: Place;
}
/** Lines of the table by method and path; a slash at the end does not count. */
const slashed = (key: string) => key.replace(/\/$/, "");
const lines = new Map(Object.entries(endpoints).map(([key, endpoint]) => [slashed(key), endpoint]));
const current = apiRoutes.flatMap(operationsOf);
/** What older versions have; what they lack has routes too, which are nobody's. */
const older = [version20, version22].flatMap((version) => {
  const has = (key: string) => Object.hasOwn(version.operations, key) || Object.hasOwn(version.own, key);
  return routesOf(version, apiRoutes)
    .flatMap(operationsOf)
    .map((operation) => ({ ...operation, lacking: !has(operation.key) }));
});
const routes = [
  ...current,
  ...older.filter(({ lacking }) => !lacking),
  ...viewerRoutesOf(loadViewerFiles()).flatMap(operationsOf),
];

/** The methods of a route, each with its key in the table. */
function operationsOf({ methods, path }: Route<Services>) {
  return methods.map((method) => {
    const key = `${method} ${path.replace(/^\/api\/2\.\d\/:project/, "P")}`;
    return { key, name: `${method} ${path}`, method, path };
  });
}

const placeOf = (path: string): Place =>
  path.includes("/:layer/") ? "layer" : path.includes("/:map/") ? "map" : "project";
const cases: Case[] = routes.flatMap((route) => {
  const endpoint = lines.get(slashed(route.key));
  return endpoint ? [{ ...route, endpoint, place: endpoint.on ?? placeOf(route.path) }] : [];
});

const bitOf: Record<
  Exclude<Need, "nothing" | "good token" | "membership" | "session" | "operate">,
  number
> = {
  read: Right.read,
  look: Right.read,
  "read with token": Right.read,
  "edit objects": Right.editObjects,
  "edit structure": Right.editStructure,
  administer: Right.administer,
};

/** The status that refuses the caller; undefined when the rights let pass. */
function refusal({ endpoint: { need }, place }: Case, who: Who, map: MapCode): number | undefined {
  if (need === "nothing") return undefined;
  const isOfProject = who !== "made-up token" && who !== "stranger";
  if (need === "look" && !isOfProject && callers.public[map][place === "map" ? 0 : 1]) return undefined;
  if (who === "made-up token") return 401;
  if (need === "session" || need === "operate")
    return who === "public" ? 401 : need === "session" || who === "admin" ? undefined : 403;
  if (who === "stranger") return 403;
  if (need === "good token") return undefined;
  const rights = callers[who];
  if (who === "public" && need !== "read" && need !== "look") return 401;
  if (need === "membership") return undefined;
  const held = place === "project" ? rights.project : rights[map][place === "map" ? 0 : 1];
  return held & bitOf[need] ? undefined : 403;
}

interface Asked {
  readonly who: Who;
  /** Idempotency-Key. */
  readonly key?: string;
  readonly map: MapCode;
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/** The path with its parts filled in. A route of its own kind of file has the uuid, one that deletes it the id. */
function addressOf({ endpoint, method, path }: Case, { map, params }: Asked): string {
  const parts: Record<string, string> = {
    project: "p",
    path: "none.svg",
    id: "999999999",
    member: "0",
    ...fixtures[map],
    ...(method === "DELETE" ? { file: fixtures[map].fileId! } : {}),
    ...endpoint.params,
    ...params,
  };
  const filled = path.replace(/:(\w+)\*?/g, (_, name: string) => {
    const value = parts[name];
    if (value === undefined) throw new Error(`${path}: nothing is known to stand for :${name}`);
    return encodeURIComponent(value);
  });
  return `${server.url}${filled}${endpoint.query ? `?${endpoint.query.replace("{map}", map)}` : ""}`;
}

async function ask(
  at: Case,
  asked: Asked,
): Promise<{ status: number; cacheControl: string | null; url: string }> {
  const token = await tokenOf(asked.who);
  const body = asked.body ?? at.endpoint.body;
  const form = body instanceof FormData;
  const url = addressOf(at, asked);
  const answer = await fetch(url, {
    method: at.method,
    headers: {
      ...(token ? { "x-token": token } : {}),
      ...(asked.key === undefined ? {} : { "idempotency-key": asked.key }),
      ...(body !== undefined && !form ? { "content-type": "application/json" } : {}),
    },
    ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
  });
  await bodyOf(answer);
  return { status: answer.status, cacheControl: answer.headers.get("cache-control"), url };
}

/** A fingerprint of every table of the installation. */
async function state(): Promise<Map<string, string>> {
  const tables = await db.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname in ('mapwright', 'layers', 'staging') order by 1`,
  );
  const prints = new Map<string, string>();
  for (const { name } of tables) {
    const [row] = await db.query<{ print: string }>(
      `select count(*) || coalesce(md5(string_agg(t::text, ',' order by t::text)), '') as print from ${name} t`,
    );
    prints.set(name, row!.print);
  }
  return prints;
}

t.test("every route is in the table", async (t) => {
  const missing = routes.filter(({ key }) => !lines.has(slashed(key)));
  t.same(
    missing.map(({ name }) => name),
    [],
    "each route has a line in rights-table.support.ts",
  );
});

t.test("who lacks the right is refused, and nothing changes", async (t) => {
  const before = await state();
  for (const at of cases) {
    for (const map of mapCodes) {
      const refusals = everybody.map(async (who) => {
        const wanted = refusal(at, who, map);
        if (wanted === undefined) return;
        const { status } = await ask(at, { who, map });
        t.equal(status, wanted, `${at.name} of ${map} by ${who}`);
      });
      await Promise.all(refusals);
    }
  }
  t.same(await state(), before);
});

t.test("who has lost the right is not given the answer of a request that was done before", async (t) => {
  const key = "done-before";
  for (const account of accounts.values())
    await db.execute(
      "insert into idempotency_key (account_id, key, request, answer) values ($1, $2, $3, $4)",
      [...[account, key, "of any request", JSON.stringify({ kind: "json", value: "secret" })]],
    );
  const before = await state();
  for (const at of cases) {
    if (at.method === "GET") continue;
    for (const map of mapCodes) {
      const refusals = (["viewer", "barred"] as const).map(async (who) => {
        const wanted = refusal(at, who, map);
        if (wanted === undefined) return;
        const { status } = await ask(at, { who, map, key });
        t.equal(status, wanted, `${at.name} of ${map} by ${who}`);
      });
      await Promise.all(refusals);
    }
  }
  t.same(await state(), before);
  await db.execute("delete from idempotency_key");
});

/** What callers without the right may be told of a part that names nothing, beside their refusal. */
function alsoAnswered({ path }: Case, part: string, { who, map }: Asked): number[] {
  // Whether there is such a map or picture at all, nobody needs a right to ask.
  if (part === "map" || path.endsWith("/image/:file/")) return [404];
  // Who may read the map may know its layers; rights on one of them are not those on one that does not exist.
  const rights: Rights | undefined = callers[who];
  return part === "layer" && rights !== undefined && rights[map][0] & Right.read ? [404, 403, 401] : [];
}

t.test("what a path names must be there, of this map and of this project", async (t) => {
  const before = await state();
  for (const at of cases) {
    // Older versions have the handlers of the current one behind their paths.
    if (!at.path.includes(":project") || older.some(({ path }) => path === at.path)) continue;
    for (const who of ["public", "admin", "stranger", "made-up token"] as const) {
      const { status } = await ask(at, { who, map: "open", params: { project: "nowhere" } });
      t.equal(status, 500, `${at.name} of no project by ${who}`);
    }
    for (const map of mapCodes) {
      for (const [part, values] of Object.entries(foreign(map, at.method === "DELETE"))) {
        if (!at.path.includes(`:${part}/`) || at.endpoint.params?.[part]) continue;
        for (const value of values) {
          const asked = { map, params: { [part]: value } };
          const { status, url } = await ask(at, { who: "admin", ...asked });
          t.equal(status, at.endpoint.unknown?.[part] ?? 404, `${at.method} ${url} by admin`);
          // For who is refused one kind of foreign is like another.
          const others = value === values[0] ? everybody : [];
          const refusals = others.map(async (who) => {
            const wanted = refusal(at, who, map);
            if (wanted === undefined) return;
            const refused = await ask(at, { who, ...asked });
            t.ok(
              [wanted, ...alsoAnswered(at, part, { who, map })].includes(refused.status),
              `${at.method} ${refused.url} by ${who}: ${refused.status}`,
            );
          });
          await Promise.all(refusals);
        }
      }
    }
  }
  t.same(await state(), before);
});

t.test("who has the right is served, and what a token decided is kept by nobody", async (t) => {
  for (const at of cases) {
    for (const map of mapCodes) {
      for (const who of everybody) {
        if (refusal(at, who, map) !== undefined) continue;
        const fresh = await at.endpoint.fresh?.(makersFor(map));
        const { status, cacheControl } = await ask(at, { who, map, ...fresh });
        t.equal(status, at.endpoint.ok ?? 200, `${at.name} of ${map} by ${who}`);
        if (who !== "public" && at.endpoint.need !== "nothing" && status === 200) {
          t.equal(cacheControl, "private, no-store", `${at.name} of ${map} by ${who}`);
        }
      }
    }
  }
});

t.test("what an older version lacks is there for nobody", async (t) => {
  for (const operation of older.filter(({ lacking }) => lacking)) {
    const at: Case = { ...operation, endpoint: { need: "nothing" }, place: placeOf(operation.path) };
    for (const who of ["public", "admin"] as const) {
      t.equal((await ask(at, { who, map: "open" })).status, 404, `${at.name} by ${who}`);
    }
  }
});
