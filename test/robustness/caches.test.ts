import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { runCommand } from "../commands/support.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { watchSafety } from "../support/safe.js";
import { startServer } from "../support/server.js";

/** Caches give everybody what is theirs, and nobody what is another's: two nodes that trust this machine's proxies. */

const server = await startServer({ nodes: 2, config: { trustedProxies: ["127.0.0.1"] } });
t.teardown(() => server.stop());
const editor = await server.token("editor");
const viewer = await server.token("viewer");
const here = { lon: 10, lat: 10, z: 6 };
const nodes = [0, 1];
await makeMap(server, "good");
const safe = await watchSafety(t, server, "/api/2.8/p/good/");

const { config } = server.nodes[0]!.services;
const variables = {
  DATABASE_URL: config.databaseUrl,
  MAPWRIGHT_DATABASE_DIRECT_URL: config.databaseDirectUrl,
  REDIS_URL: config.redisUrl,
  MAPWRIGHT_REDIS_PREFIX: config.redisPrefix,
};
async function command(line: string): Promise<void> {
  const result = await runCommand(line.split(" "), { variables });
  if (result.status !== 0) throw new Error(result.stderr);
}

async function tile(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers });
  const body = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, body };
}
/** Colour of the middle of a tile, and its side. */
async function look(url: string): Promise<{ colour: number[]; side: number }> {
  const { status, body } = await tile(url);
  if (status !== 200) throw new Error(`${url}: ${status} ${body}`);
  const image = await picture(body);
  return { colour: image.at(image.width >> 1, image.width >> 1), side: image.width };
}
const red = [255, 0, 0, 255];
const green = [0, 255, 0, 255];
const blue = [0, 0, 255, 255];

t.test(
  "what a token was shown is for nobody else, and a map that is closed is closed everywhere",
  async (t) => {
    await makeMap(server, "m");
    const layer = await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #f00; }");
    await addObject(server, "l", square(5, 5, 10), { map: "m" });
    const x = 33;
    /** All that shows the map, on a node: tiles by each address, and the API. */
    const addresses = (node: number): string[] => [
      tileUrl(server, "m", here, "", node),
      tileUrl(server, "m", here, "&base=0&retina=2", node),
      tileUrl(server, "m", here, `&layers=${layer.id}`, node),
      `${server.urls[node]}/tms/p/m/6/${x}/30.png`,
      `${server.urls[node]}/tms/p/m/6/${x}/30@2x.png`,
      `${server.urls[node]}/tms/p/m/tile.json`,
      `${server.urls[node]}/api/2.8/p/m/`,
      `${server.urls[node]}/api/2.8/p/m/layers/`,
      `${server.urls[node]}/api/2.8/p/m/layers/l/`,
      `${server.urls[node]}/api/2.8/p/m/layers/l/objects/`,
      `${server.urls[node]}/api/2.8/p/m/layers/l/icon/`,
      `${server.urls[node]}/api/2.8/p/m/search/?phrase=l`,
    ];
    const statuses = async (headers: Record<string, string> = {}): Promise<Set<number>> => {
      const found = new Set<number>();
      for (const node of nodes) {
        for (const url of addresses(node)) found.add((await tile(url, headers)).status);
      }
      return found;
    };
    t.same(await statuses(), new Set([200]), "open, and now in every cache");
    const { headers: open } = await tile(addresses(0)[0]!);
    const etag = open.get("etag")!;
    for (let round = 0; round < 3; round++) {
      await command("map unpublish p m");
      t.same(await statuses(), new Set([403]), "closed at once, on every node and from every cache");
      t.same(await statuses({ "if-none-match": etag }), new Set([403]), "nobody hears that nothing changed");
      for (const carrier of [{ "x-token": viewer }, { authorization: `Bearer ${viewer}` }]) {
        t.same(await statuses(carrier), new Set([200]), "open to who may read it");
        t.same(await statuses(), new Set([403]), "and still closed to others");
      }
      for (const node of nodes) {
        for (const url of addresses(node)) {
          const own = await tile(`${url}${url.includes("?") ? "&" : "?"}token=${viewer}`);
          t.equal(own.status, 200, url);
          t.equal(own.headers.get("cache-control"), "private, no-store", url);
          t.equal((await tile(url)).status, 403, url);
          t.equal((await tile(`${url}${url.includes("?") ? "&" : "?"}token=made-up`)).status, 401, url);
        }
      }
      await command("map publish p m");
      t.same(await statuses(), new Set([200]), "open again");
    }
    await safe.accept();
    await safe.holds(t, "publishing and taking back");
  },
);

t.test("layers, base, language, quality, density and style are each a picture of their own", async (t) => {
  await makeMap(server, "n");
  const first = await makeStyledLayer(server, "n", "first", "#a { polygon-fill: #ff0000; }");
  const second = await makeStyledLayer(server, "n", "second", "#a { polygon-fill: #00ff00; }");
  const column = { code: "name", type: "string", localized_value: true };
  for (const code of ["first", "second"]) {
    await server.api("POST", `n/layers/${code}/structure/`, { token: editor, body: column });
    const fields = { name: { en: "english", ru: "русский" } };
    const body = { fields, geom: square(5, 5, 10) };
    const made = await server.api("POST", `n/layers/${code}/objects/`, { token: editor, body });
    if (made.status !== 200) throw new Error(made.text);
  }
  const inLanguages = (english: string, russian: string) =>
    `#a { [name = 'english'] { polygon-fill: ${english}; } [name = 'русский'] { polygon-fill: ${russian}; } }`;
  const restyle = (css_style: string, node: number) =>
    server.api("PATCH", "n/layers/first/", { token: editor, node, body: { parent_id: 0, css_style } });

  /** Every combination twice in a row on each node, the second time in another order. */
  const check = async (wanted: (lng: string) => number[], what: string) => {
    const combinations: { query: string; colour: number[]; side: number }[] = [];
    for (const [layers, colour] of [
      ["", wanted],
      [`&layers=${first.id}`, wanted],
      [`&layers=${second.id}`, () => green],
      ["&layers=", () => undefined],
    ] as const) {
      for (const lng of ["", "&lng=en", "&lng=ru"]) {
        for (const [retina, side] of [
          ["", 256],
          ["&retina=2", 512],
          ["&retina=3", 768],
        ] as const) {
          for (const q of ["", "&q=1"]) {
            for (const base of ["", "&base=0"]) {
              const seen = colour(lng);
              if (seen) combinations.push({ query: layers + lng + retina + q + base, colour: seen, side });
            }
          }
        }
      }
    }
    for (const order of [combinations, combinations.toReversed()]) {
      for (const node of nodes) {
        const wrong: string[] = [];
        for (const { query, colour, side } of order) {
          const seen = await look(tileUrl(server, "n", here, query, node));
          if (seen.side !== side || JSON.stringify(seen.colour) !== JSON.stringify(colour)) {
            wrong.push(`${query}: ${JSON.stringify(seen)}`);
          }
        }
        t.same(wrong, [], `${what}, ${order.length} combinations on node ${node}`);
      }
    }
  };
  await check(() => red, "one colour");
  for (const [node, english, russian] of [
    [0, "#0000ff", "#ff0000"],
    [1, "#ff0000", "#0000ff"],
  ] as const) {
    const styled = await restyle(inLanguages(english, russian), node);
    t.equal(styled.status, 200, styled.text);
    const colours = { en: english === "#0000ff" ? blue : red, ru: russian === "#0000ff" ? blue : red };
    await check((lng) => (lng === "&lng=ru" ? colours.ru : colours.en), `a style of node ${node}`);
  }
  // Empty lists of layers and layers of others show the base map alone, or nothing.
  for (const node of nodes) {
    t.equal((await look(tileUrl(server, "n", here, "&layers=&base=0", node))).colour[3], 0);
  }
  await safe.accept();
  await safe.holds(t, "every combination");
});

t.test("what a client says of the host reaches no answer that is kept", async (t) => {
  await makeMap(server, "o");
  await makeStyledLayer(server, "o", "l", "#l { polygon-fill: #f00; }");
  await addObject(server, "l", square(5, 5, 10), { map: "o" });
  const evil = new URL(safe.canaryUrl).host;
  const lies: Record<string, string>[] = [
    { "x-forwarded-host": evil, "x-forwarded-proto": "https" },
    { "x-forwarded-prefix": "/evil" },
    { "x-forwarded-for": "203.0.113.9" },
    { "x-original-url": "/api/2.8/p/good/", "x-rewrite-url": "/api/2.8/p/good/" },
    { "x-http-method-override": "DELETE" },
    { forwarded: `host=${evil};proto=https` },
    { range: "bytes=0-3" },
    { "accept-language": "ru", "accept-encoding": "gzip", accept: "text/html", cookie: `token=${viewer}` },
  ];
  for (const node of nodes) {
    const url = tileUrl(server, "o", here, "", node);
    for (const headers of lies) {
      const fresh = `${url}&n=${JSON.stringify(headers).length}`;
      const poisoned = await tile(fresh, headers);
      const clean = await tile(fresh);
      t.same([poisoned.status, clean.status], [200, 200], JSON.stringify(headers));
      t.same(clean.body, poisoned.body);
      t.notMatch(JSON.stringify([...clean.headers]), evil);
      t.notMatch(JSON.stringify([...clean.headers]), "evil");
    }
    for (const path of ["/tms/p/o/tile.json", "/api/2.8/p/o/layers/", "/api/2.8/p/o/"]) {
      for (const headers of lies) {
        await safe.ask(path, { node, headers });
        const clean = await safe.ask(path, { node });
        t.equal(clean.status, 200);
        t.notOk(clean.text.includes(evil) || clean.text.includes("/evil"), path);
      }
    }
    // One that may say so is believed, for its own answer alone; no cache between may keep that for others.
    const named = await safe.ask("/tms/p/o/tile.json", {
      node,
      headers: { "x-forwarded-host": "maps.example" },
    });
    t.match(named.json.tiles[0], /^http:\/\/maps\.example\//);
  }
  await safe.accept();
  await safe.holds(t, "lies about the host");
});

t.test("repeated and disguised parameters are one address each, and the first counts", async (t) => {
  const wanted: [string, string][] = [
    ["&q=0&q=1", "&q=0"],
    ["&q=1&q=0", "&q=1"],
    ["&retina=2&retina=1", "&retina=2"],
    ["&%71=1", "&q=1"],
    ["&q=%31", "&q=1"],
    ["&&&q=1&", "&q=1"],
    ["&Q=1", ""],
    ["&unknown=1&unknown=2", ""],
    ["&base=0&base=1", "&base=0"],
  ];
  for (const node of nodes) {
    for (const [disguised, plain] of wanted) {
      const one = await tile(tileUrl(server, "o", here, disguised, node));
      const other = await tile(tileUrl(server, "o", here, plain, node));
      t.same([one.status, other.status], [200, 200], disguised);
      t.same(one.body, other.body, disguised);
    }
    const twice = tileUrl(server, "o", here, "", node);
    const place = new URL(twice);
    const elsewhere = `${place.origin}${place.pathname}?x=0&${place.search.slice(1)}`;
    t.notSame((await tile(elsewhere)).body, (await tile(twice)).body, "the first x counts");
    for (const again of ["&x=0", "&z=99", "&x=a"]) {
      t.same((await tile(twice + again)).body, (await tile(twice)).body, `a second one does not: ${again}`);
    }
    for (const bad of ["q=2&q=1", "z=99&z=6", "q=1%00"]) {
      const broken = `${place.origin}${place.pathname}?${bad}&${place.search.slice(1)}`;
      t.equal((await tile(broken)).status, 400, bad);
    }
    // A token that comes twice counts once, and never lets the answer into a cache.
    const secret = `${twice}&n=7&token=${viewer}&token=`;
    t.equal((await tile(secret)).headers.get("cache-control"), "private, no-store");
    t.equal((await tile(`${twice}&n=7&token=&token=${viewer}`)).status, 200);
    t.match((await tile(`${twice}&n=7`)).headers.get("cache-control"), /^public/);
  }
  await safe.holds(t, "repeated parameters");
});

t.test("an error in between is kept nowhere", async (t) => {
  const { rows } = await server.sql.query(
    "select n.id from node n join map m on m.id = n.map_id where m.code = 'o'",
  );
  const table = `layers.l${rows[0].id}`;
  const place = { lon: 11, lat: 11, z: 9 };
  await server.sql.query(`alter table ${table} rename to away`);
  const failed: string[] = [];
  for (const node of nodes) {
    for (const query of ["", "&retina=2", "&q=1"]) {
      const url = tileUrl(server, "o", place, query, node);
      const answer = await tile(url);
      t.equal(answer.status, 200, url);
      t.equal(answer.headers.get("x-tile-incomplete"), "l");
      t.equal(answer.headers.get("cache-control"), "no-store");
      t.equal(answer.headers.get("etag"), null);
      failed.push(url);
    }
    t.equal((await safe.ask("/api/2.8/p/o/layers/l/objects/", { node })).status, 500);
  }
  await server.sql.query(`alter table layers.away rename to ${table.slice("layers.".length)}`);
  for (const url of failed) {
    // What could not be drawn is tried again after some seconds.
    let { colour } = await look(url);
    for (let tries = 0; tries < 100 && colour[0] !== red[0]; tries++) {
      await delay(200);
      ({ colour } = await look(url));
    }
    t.same(colour, red, `${url} is right again`);
  }
  for (const node of nodes) {
    t.equal((await safe.ask("/api/2.8/p/o/layers/l/objects/", { node })).status, 200);
  }
  await safe.holds(t, "an error in between");
});
