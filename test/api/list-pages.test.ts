import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { changeUses } from "../support/uses.js";

/** Pages of lists, how many objects there are, and the media types that lists come in. */

const server = await startServer();
t.teardown(() => server.stop());
const { sql } = server;
const editor = await server.token("editor");
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "");
for (const column of [
  { code: "name", type: "string" },
  { code: "size", type: "number", format: { kind: "number", decimals: 1, suffix: " m" } },
  { code: "label", type: "string", localized_value: true },
])
  await server.api("POST", "m/layers/l/structure/", { token: editor, body: column });
const physical = async (code: string) =>
  `c${(await sql.query("select id from layer_column where layer_id = $1 and code = $2", [layer.id, code])).rows[0].id}`;
const [name, size, label] = [await physical("name"), await physical("size"), await physical("label")];
const rows = 2_500;
await sql.query(
  `insert into layers.l${layer.id} (svc_id, geom, ${name}, ${size}, ${label}) overriding system value
   select case when i = 1 then -5 else i * 2 end, st_setsrid(st_makepoint(i % 170, i % 80), 4326),
     case when i % 3 = 0 then 'three' else 'other "' || i || '"' end, i, jsonb_build_object('en', 'n' || i)
   from generate_series(1, ${rows}) i`,
);
await server.nodes[0]!.services.changes.propagate();

const address = `${server.url}/api/2.8/p/m/layers/l/objects/`;
const get = (query: string, headers: Record<string, string> = {}) =>
  fetch(`${address}?${query}`, { headers });
const next = (answer: Response) => /^<([^>]*)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1];

/** The ids of all pages, one after the other. */
async function pages(query: string): Promise<number[]> {
  const ids: number[] = [];
  for (let url: string | undefined = `${address}?${query}`; url !== undefined; ) {
    const answer: Response = await fetch(url);
    t.equal(answer.status, 200, url);
    const list = (await answer.json()) as { id: number }[];
    t.ok(list.length > 0, "no page is empty");
    ids.push(...list.map(({ id }) => id));
    url = next(answer);
  }
  return ids;
}

const all = ((await (await get("")).json()) as { id: number }[]).map(({ id }) => id);

t.test("pages follow each other until the last, short and long ones", async (t) => {
  t.equal(all.length, rows);
  for (const query of [
    "limit=700",
    "limit=1100",
    `limit=${rows}`,
    "limit=1250",
    "limit=90&returnGeom=1&fbbox=-90,-180,90,180",
    "limit=2000&returnGeom=1",
    "limit=400&f=fjson&fields=size",
  ])
    t.same(await pages(query), all, query);
  const threes = (await pages("limit=100&fields=name&fcode=name&fval=three")).length;
  t.equal(threes, Math.floor(rows / 3));
  t.same(await pages("limit=900&offset=100"), all.slice(100));
  t.same(
    await pages("limit=900&after=1001"),
    all.filter((id) => id > 1001),
  );
  t.same(await (await get("after=-5&limit=2")).json(), [{ id: 4 }, { id: 6 }]);
  for (const query of ["", "limit=0", "limit=10&sort=size", "limit=10000"])
    t.equal(next(await get(query)), undefined, `no next page: ${query}`);
});

t.test("an object that is added or deleted between pages takes no other away", async (t) => {
  for (const limit of [10, 1_200]) {
    const first = await get(`limit=${limit}`);
    const ids = ((await first.json()) as { id: number }[]).map(({ id }) => id);
    await sql.query(`delete from layers.l${layer.id} where svc_id = $1`, [ids[3]]);
    await sql.query(`insert into layers.l${layer.id} (svc_id) overriding system value values ($1)`, [ids[3]]);
    const second = (await (await fetch(next(first)!)).json()) as { id: number }[];
    t.equal(second[0]!.id, all[limit]);
  }
});

t.test("the next address keeps the parameters, but never the token", async (t) => {
  const answer = await get(`limit=2&fields=name&returnGeom=1&token=${editor}`);
  const url = new URL(next(answer)!);
  t.same(Object.fromEntries(url.searchParams), { limit: "2", fields: "name", returnGeom: "1", after: "4" });
  t.notMatch(answer.headers.get("link"), editor.slice(0, 10));
  const body = JSON.stringify({ limit: 2, offset: 3, fields: "name" });
  const headers = { "content-type": "application/json" };
  const post = (at: string) => fetch(at, { method: "POST", headers, body });
  const filtered = await post(`${server.url}/api/2.8/p/m/layers/l/filter/`);
  t.same(
    ((await filtered.json()) as { id: number }[]).map(({ id }) => id),
    all.slice(3, 5),
  );
  const more = await post(next(filtered)!);
  t.same(
    ((await more.json()) as { id: number }[]).map(({ id }) => id),
    all.slice(5, 7),
  );
});

t.test("what is no page is refused", async (t) => {
  for (const query of ["after=x", "after=1.5", "after=1&sort=size", "count=7", "after=1e400"])
    t.equal((await get(query)).status, 400, query);
});

t.test("count tells of the objects on all pages", async (t) => {
  const total = async (query: string) => (await get(`count=1&${query}`)).headers.get("x-total-count");
  t.equal(await total("limit=5"), String(rows));
  t.equal(await total("limit=5&after=1000&offset=3"), String(rows));
  t.equal(await total("fields=name&fcode=name&fval=three&limit=1"), String(Math.floor(rows / 3)));
  t.equal(await total("fbbox=0,0,10,10&limit=0"), String((await pages("limit=1000&fbbox=0,0,10,10")).length));
  t.equal((await get("limit=5")).headers.get("x-total-count"), null);
  t.match((await get("limit=5&count=1")).headers.get("access-control-expose-headers"), /Link, X-Total-Count/);
});

t.test("Accept chooses the media type, and format comes before it", async (t) => {
  const type = async (accept: string, query = "limit=2") => {
    const answer = await get(query, { accept });
    t.equal(answer.headers.get("vary"), "Accept");
    return answer.headers.get("content-type");
  };
  t.equal(await type("*/*"), "application/json; charset=utf-8");
  t.equal(await type("application/geo+json"), "application/geo+json");
  t.equal(await type("application/geo+json-seq"), "application/geo+json-seq");
  t.equal(await type("text/csv"), "text/csv; charset=utf-8; header=present");
  t.equal(await type("text/csv", "limit=2&format=geojson"), "application/geo+json");
  t.equal(await type("text/csv", "limit=2&format=json"), "application/json; charset=utf-8");
  t.equal(await type("text/csv", "limit=2&f=fjson"), "application/json; charset=utf-8");
  t.equal(await type("image/png"), "application/json; charset=utf-8");
});

t.test("a sequence has one Feature a line, short, long and empty", async (t) => {
  const features = async (query: string) => {
    const text = await (await get(query, { accept: "application/geo+json-seq" })).text();
    return text
      .split("\x1e")
      .filter(Boolean)
      .map((line) => {
        t.ok(line.endsWith("\n"));
        return JSON.parse(line);
      });
  };
  t.same(await features("limit=0"), []);
  t.match(await features("limit=2&fields=name"), [
    { type: "Feature", id: -5, geometry: { type: "Point", coordinates: [1, 1] }, properties: { svc_id: -5 } },
    { type: "Feature", id: 4 },
  ]);
  t.equal((await features("")).length, rows);
  t.match(await features("limit=1&fields=size&f=fjson"), [{ properties: { size: "1.0 m" } }]);
});

t.test("CSV has a line of names, values in one language, and the geometry if it is asked for", async (t) => {
  const csv = async (query: string) => {
    const answer = await get(query, { accept: "text/csv" });
    t.equal(answer.status, 200);
    return (await answer.text()).split("\r\n");
  };
  t.same(await csv("limit=2"), ["svc_id", "-5", "4", ""]);
  t.same(await csv("limit=2&fields=name,size,label&returnGeom=1&lng=en"), [
    "svc_id,name,size,label,wkt",
    '-5,"other ""1""",1,"n1","POINT(1 1)"',
    '4,"other ""2""",2,"n2","POINT(2 2)"',
    "",
  ]);
  t.same(await csv("limit=1&fields=label&lng=ru"), ["svc_id,label", "-5,", ""]);
  t.same(await csv("limit=1&fields=label&lng=x'y\"z"), ["svc_id,label", "-5,", ""]);
  t.same(await csv("limit=1&sort=svc_id,d&fields=size"), ["svc_id,size", `${rows * 2},${rows}`, ""]);
  t.same(await csv("limit=1&returnGeom=1&geomSR=3857"), [
    "svc_id,wkt",
    '-5,"POINT(111319.490793 111325.142866)"',
    "",
  ]);
  t.equal((await csv("limit=1&returnGeom=1&geomZoom=3&returnCentroid=1")).length, 3);
  t.equal((await csv("fields=*&returnGeom=1")).length, rows + 2);
  t.same(await csv("limit=0&fields=*"), ["svc_id,name,size,label", ""]);
  t.equal((await get("fields=none", { accept: "text/csv" })).status, 500);
});

t.test("media types never share an ETag", async (t) => {
  const types = ["application/json", "application/geo+json", "application/geo+json-seq", "text/csv"];
  const answers = await Promise.all(types.map((accept) => get("fields=name&limit=3", { accept })));
  const tags = answers.map((answer) => answer.headers.get("etag")!);
  t.equal(new Set(tags).size, types.length);
  for (const [index, accept] of types.entries()) {
    for (const [other, tag] of tags.entries()) {
      const again = await get("fields=name&limit=3", { accept, "if-none-match": tag });
      t.equal(again.status, other === index ? 304 : 200, `${accept} with the tag of ${types[other]}`);
      t.equal(again.headers.get("vary"), "Accept");
    }
  }
});

t.test("whoever asks for CSV and leaves ends the query", async (t) => {
  let open = 0;
  let opened = 0;
  const stop = changeUses(server.nodes[0]!.services.db, (db) => {
    const stream = db.streamBytes.bind(db);
    return {
      streamBytes: ((...args: Parameters<typeof stream>) => {
        open++;
        opened++;
        const batches = stream(...args);
        return (async function* () {
          try {
            yield* batches;
          } finally {
            open--;
          }
        })();
      }) as typeof stream,
    };
  });
  t.teardown(stop);
  const controller = new AbortController();
  const answer = await fetch(`${address}?fields=*&returnGeom=1`, {
    headers: { accept: "text/csv" },
    signal: controller.signal,
  });
  await answer.body!.getReader().read();
  t.equal(opened, 1);
  controller.abort();
  for (let attempt = 0; open > 0 && attempt < 200; attempt++)
    await new Promise((done) => setTimeout(done, 20));
  t.equal(open, 0);
});

t.test("who prefers JSON to HTML is refused in JSON, and the API says where to begin", async (t) => {
  const refused = await fetch(`${server.url}/api/2.8/p/none/`, {
    headers: { accept: "application/json, text/plain, */*" },
  });
  t.equal(refused.headers.get("content-type"), "application/problem+json");
  t.match(await refused.json(), { status: 404, title: "Not Found", detail: 'There is no map "none".' });
  const page = await fetch(`${server.url}/api/2.8/p/none/`, { headers: { accept: "text/html, */*;q=0.5" } });
  t.match(page.headers.get("content-type"), /text\/html/);
  const start = (await (await fetch(`${server.url}/api/2.8`)).json()) as Record<string, string>;
  t.equal(start.version, "2.8");
  for (const name of ["description", "documentation", "viewer"])
    t.equal((await fetch(start[name]!)).status, 200, name);
  t.equal((await fetch(start.tiles!.replace("{project}", "p").replace("{map}", "m"))).status, 200);
  t.equal((await fetch(start.map!.replace("{project}", "p").replace("{map}", "m"))).status, 200);
});

t.test("a condition selects the objects of a list, its pages and its number", async (t) => {
  const listed = async (condition: string, more = "") => {
    const answer = await get(`fields=size&filter=${encodeURIComponent(condition)}${more}`);
    t.equal(answer.status, 200, condition);
    const items = (await answer.json()) as { fields: { size: number } }[];
    return { sizes: items.map(({ fields }) => fields.size), answer };
  };
  t.same((await listed("size in (7, 9) or size > 2499")).sizes, [7, 9, 2500]);
  t.same((await listed("name matches '.*[Oo]THER \"11\".*'")).sizes, []);
  t.same((await listed("name matches '.*[Oo]ther \"11\".*' and size < 20", "&fbbox=0,0,80,170")).sizes, [11]);
  const page = await listed("name = 'three'", "&limit=2&count=1");
  t.same(page.sizes, [3, 6]);
  t.equal(page.answer.headers.get("x-total-count"), "833");
  const rest = await fetch(next(page.answer)!);
  t.same(
    ((await rest.json()) as { fields: { size: number } }[]).map(({ fields }) => fields.size),
    [9, 12],
    "the address of the next page has the condition",
  );
  t.same((await listed("size < 4", "&sort=size,d")).sizes, [3, 2, 1]);
});

t.test(
  "a condition compares localised values of the request's language, in lists and in exports",
  async (t) => {
    await sql.query(
      `update layers.l${layer.id} set ${label} = ${label} || '{"ru": "первый"}' where ${size} = 1`,
    );
    await server.nodes[0]!.services.changes.propagate();
    const condition = encodeURIComponent("label = 'первый'");
    const found = async (lng: string) =>
      ((await (await get(`filter=${condition}${lng}`)).json()) as unknown[]).length;
    t.equal(await found(""), 0);
    t.equal(await found("&lng=ru"), 1);
    for (const format of ["geojson", "csv", "xlsx"]) {
      const exported = async (lng: string) =>
        (await (await fetch(`${address}../export/?format=${format}&filter=${condition}${lng}`)).arrayBuffer())
          .byteLength;
      t.ok((await exported("&lng=ru")) > (await exported("")), format);
    }
  },
);

t.test("a condition that cannot be read is refused", async (t) => {
  for (const condition of ["size >", "name matches '('", "nothing = 1"]) {
    const answer = await get(`filter=${encodeURIComponent(condition)}`);
    t.equal(answer.status, 500, condition);
    const { code } = (await answer.json()) as { code: string };
    t.ok(["invalid_value", "unknown_column"].includes(code), code);
  }
});
