import t from "tap";
import { tasksAtOnce } from "../../src/hosts/render.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer, waitFor } from "../support/server.js";

/** Tiles over HTTP: addresses, headers, rights, and how the server holds out. */

const server = await startServer({ config: { "tiles.queueLength": 3, "tiles.deadlineMs": 3000 } });
t.teardown(() => server.stop());
const node = server.nodes[0]!;
const here = { lon: 10, lat: 10, z: 6 };

await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #ff0000; }");
await addObject(server, "a", square(5, 5, 10), { map: "m" });
const url = tileUrl(server, "m", here);
const bytes = async (address: string, init?: RequestInit) => {
  const answer = await fetch(address, init);
  return { answer, body: Buffer.from(await answer.arrayBuffer()) };
};

t.test("a public tile has its caching headers, cached or not", async (t) => {
  for (const round of ["first", "again"]) {
    const { answer, body } = await bytes(url);
    t.equal(answer.status, 200, round);
    t.equal(answer.headers.get("content-type"), "image/png");
    t.equal(answer.headers.get("cache-control"), "public, max-age=0, must-revalidate");
    t.match(answer.headers.get("etag"), /^W\/"[\w-]{20}"$/);
    t.equal(answer.headers.get("surrogate-key"), null, "no CDN is told what to drop");
    t.equal(answer.headers.get("access-control-allow-origin"), "*");
    const image = await picture(body);
    t.same([image.width, image.height], [256, 256]);
    t.same(image.at(128, 128), [255, 0, 0, 255]);
  }
});

t.test("If-None-Match with the tile's ETag is answered 304 without a body, cached or not", async (t) => {
  const { answer } = await bytes(url);
  const etag = answer.headers.get("etag")!;
  for (const address of [url, `${url}&fresh=1`]) {
    for (const header of [etag, etag.replace("W/", ""), `"other", ${etag}`, "*"]) {
      const again = await bytes(address, { headers: { "if-none-match": header } });
      t.equal(again.answer.status, 304, header);
      t.equal(again.body.length, 0);
      t.equal(again.answer.headers.get("etag"), etag);
    }
    const changed = await bytes(address, { headers: { "if-none-match": '"something else"' } });
    t.equal(changed.answer.status, 200);
  }
});

t.test("HEAD answers a tile's headers", async (t) => {
  const { body } = await bytes(url);
  const head = await fetch(url, { method: "HEAD" });
  t.equal(head.status, 200);
  t.equal(Number(head.headers.get("content-length")), body.length);
});

t.test("the XYZ address, with and without @2x, shows the contract's tile", async (t) => {
  const contract = await bytes(url);
  const [x, y] = [33, 30];
  const alias = await bytes(`${server.url}/tms/p/m/6/${x}/${y}.png`);
  t.same(alias.body, contract.body);
  const double = await bytes(`${server.url}/tms/p/m/6/${x}/${y}@2x.png`);
  t.same(double.body, (await bytes(`${url}&retina=2`)).body);
  t.equal((await picture(double.body)).width, 512);
});

t.test("TileJSON names an address that works", async (t) => {
  const answer = await fetch(`${server.url}/tms/p/m/tile.json?layers=${layer.id}&base=0`);
  const tilejson = (await answer.json()) as { tilejson: string; tiles: string[]; scheme: string };
  t.equal(tilejson.tilejson, "3.0.0");
  const address = tilejson.tiles[0]!.replace("{z}", "6").replace("{x}", "33").replace("{y}", "30");
  const tile = await bytes(address);
  t.equal(tile.answer.status, 200);
  t.same((await picture(tile.body)).at(128, 128), [255, 0, 0, 255]);
});

t.test("TileJSON is asked for anew each time, and kept by nobody where a token decided", async (t) => {
  const open = await fetch(`${server.url}/tms/p/m/tile.json`);
  t.equal(open.headers.get("cache-control"), "public, no-cache");
  const own = await fetch(`${server.url}/tms/p/m/tile.json?token=${await server.token("viewer")}`);
  t.equal(own.headers.get("cache-control"), "private, no-store");
});

t.test("a tile where nothing is drawn is an image all the same", async (t) => {
  const { answer, body } = await bytes(tileUrl(server, "m", { lon: -100, lat: -50, z: 8 }));
  t.equal(answer.status, 200);
  t.equal((await picture(body)).painted, 0);
});

t.test("what an address lacks is named", async (t) => {
  const answer = await fetch(`${server.url}/tms/p/m/?y=0`);
  t.equal(answer.status, 500);
  t.match(await answer.json(), { code: "required_parameters", data: { required: ["x", "z"] } });
});

t.test("addresses and parameters out of range are answered 400", async (t) => {
  const tile = `${server.url}/tms/p/m/`;
  for (const query of [
    "x=0&y=0&z=99",
    "x=0&y=0&z=-1",
    "x=1.5&y=0&z=3",
    "x=8&y=0&z=3",
    "x=0&y=8&z=3",
    "x=&y=0&z=0",
    "x=0&y=0&z=0&retina=1000",
    "x=0&y=0&z=0&retina=0",
    "x=0&y=0&z=0&q=2",
    "x=0&y=0&z=0&base=yes",
    "x=0&y=0&z=0&layers=1;drop",
    "x=0&y=0&z=0&lng=../en",
  ]) {
    t.equal((await fetch(`${tile}?${query}`)).status, 400, query);
  }
  for (const path of ["6/33/64.png", "6/33/30.jpg", "6/33/30@4x.png", "a/33/30.png", "6/33.5/30.png"]) {
    t.equal((await fetch(`${tile}${path}`)).status, 400, path);
  }
  t.equal((await fetch(`${tile}?x=0&y=0&z=0&unknown=1`)).status, 200, "unknown parameters are ignored");
  t.equal((await fetch(`${server.url}/tms/p/nothing/?x=0&y=0&z=0`)).status, 404);
  const project = await fetch(`${server.url}/tms/nothing/m/?x=0&y=0&z=0`);
  t.equal(project.status, 500);
  t.match(await project.json(), { code: "project_not_found" });
  t.match(await (await fetch(`${server.url}/tms/_base/world/?x=0&y=0&z=0`)).json(), {
    code: "project_not_found",
  });
});

t.test("layers narrows to those layers, ids of other maps aside", async (t) => {
  const painted = async (query: string) => (await picture((await bytes(url + query)).body)).painted;
  t.ok((await painted(`&layers=${layer.id}`)) > 0);
  t.equal(await painted("&layers=999999"), 0);
  t.equal(await painted("&layers="), 0);
  t.ok((await painted(`&layers=999999,${layer.id}`)) > 0);
});

t.test("each combination of layers, base, language, quality and density is its own picture", async (t) => {
  const green = await makeStyledLayer(server, "m", "green", "#green { polygon-fill: #00ff00; }");
  await addObject(server, "green", square(5, 5, 10), { map: "m" });
  const at = async (query: string) => {
    const image = await picture((await bytes(url + query)).body);
    // With a loss it may be a little beside the colour.
    const colour = image.at(image.width / 2, image.height / 2).map((part) => Math.round(part / 5) * 5);
    return { colour, width: image.width };
  };
  const red = [255, 0, 0, 255];
  const colours = { [`&layers=${layer.id}`]: red, [`&layers=${green.id}`]: [0, 255, 0, 255], "": red };
  for (let round = 0; round < 2; round++) {
    for (const [layers, colour] of Object.entries(colours)) {
      for (const [retina, width] of [
        ["", 256],
        ["&retina=2", 512],
        ["&retina=3", 768],
      ] as const) {
        for (const q of ["&q=0", "&q=1", "&f=webp", "&f=webp&q=1"]) {
          const seen = await at(layers + retina + q);
          t.same(seen, { colour, width }, layers + retina + q);
        }
      }
    }
  }
  await server.api("DELETE", "m/layers/green/", { token: await server.token("editor") });
});

t.test("WebP tiles are the PNG ones in fewer bytes, or nearly so", async (t) => {
  const css = "#a { polygon-fill: #ff0000; } #a::b { line-width: 9; line-opacity: 0.5; line-color: #00f; }";
  await makeMap(server, "formats");
  await makeStyledLayer(server, "formats", "a", css);
  await addObject(server, "a", square(5, 5, 10), { map: "formats" });
  const pixels = async (body: Buffer) => {
    const image = await picture(body);
    return Array.from({ length: 256 }, (_, index) => image.at(index, 255 - index));
  };
  const address = tileUrl(server, "formats", here);
  const png = await bytes(address);
  const webp = await bytes(`${address}&f=webp`);
  t.equal(webp.answer.headers.get("content-type"), "image/webp");
  t.equal(webp.body.toString("latin1", 8, 12), "WEBP");
  t.ok(webp.body.length < png.body.length, `${webp.body.length} of ${png.body.length}`);
  t.same(await pixels(webp.body), await pixels(png.body));
  const small = await bytes(`${address}&f=webp&q=1`);
  const parts = (all: Awaited<ReturnType<typeof pixels>>) => all.flatMap((pixel) => [...pixel]);
  const meant = parts(await pixels(png.body));
  const farthest = Math.max(
    ...parts(await pixels(small.body)).map((part, at) => Math.abs(part - meant[at]!)),
  );
  t.ok(farthest < 48, `differs by up to ${farthest}`);
  const tile = `${server.url}/tms/p/formats/6/33/30`;
  for (const [path, type] of Object.entries({ ".webp": "webp", "@2x.webp": "webp", ".png": "png" })) {
    t.equal((await fetch(`${tile}${path}`)).headers.get("content-type"), `image/${type}`, path);
  }
  t.equal((await fetch(`${address}&f=gif`)).status, 400);
  const tiles = async (query: string) =>
    ((await (await fetch(`${server.url}/tms/p/formats/tile.json${query}`)).json()) as any).tiles[0];
  t.match(await tiles("?f=webp&q=1"), /\/\{y\}\.webp\?q=1$/);
  t.match(await tiles(""), /\/\{y\}\.png$/);
});

t.test("an unpublished map is for those who may read it, from no cache and at once", async (t) => {
  const token = await server.token("viewer");
  const publish = (open: boolean) =>
    server.sql.query("update map set has_publication = $1 where code = 'm'", [open]);
  t.equal((await fetch(url)).status, 200);
  await publish(false);
  await waitFor(async () => (await fetch(url)).status === 403);
  const own = await fetch(`${url}&token=${token}`);
  t.equal(own.status, 200);
  t.equal(own.headers.get("cache-control"), "private, no-store");
  t.equal((await fetch(url)).status, 403, "what a token was shown is for nobody else");
  t.equal((await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status, 200);
  t.equal((await fetch(`${url}&token=made-up`)).status, 401);
  await publish(true);
  await waitFor(async () => (await fetch(url)).status === 200);
  const signedIn = await fetch(url, { headers: { "x-token": token } });
  t.equal(signedIn.headers.get("cache-control"), "private, no-store", "a token decided this one");
});

t.test("a thousand requests for one cold metatile are one render", async (t) => {
  const before = node.services.tiles.rendered;
  const place = { lon: -60, lat: -20, z: 8 };
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, index) =>
      fetch(tileUrl(server, "m", place, `&n=${index}`)).then((answer) => answer.status),
    ),
  );
  t.same(new Set(answers), new Set([200]));
  t.equal(node.services.tiles.rendered - before, 1);
});

/** Metatiles of one project that the render host is given at once. */
const { mostOfOwner } = tasksAtOnce(2);

/** While it runs, no object of the layer can be read. The layer has objects at both ends of the world, so its tiles need them. */
async function withLockedLayer(work: () => Promise<void>): Promise<void> {
  await server.sql.query(
    `insert into layers.l${layer.id} (geom) select p from st_setsrid(st_point(-179, -70), 4326) p
       where not exists (select from layers.l${layer.id} where geom && p)
     union all select p from st_setsrid(st_point(179, 70), 4326) p
       where not exists (select from layers.l${layer.id} where geom && p)`,
  );
  await server.sql.query("begin");
  await server.sql.query(`lock table layers.l${layer.id} in access exclusive mode`);
  try {
    await work();
  } finally {
    await server.sql.query("rollback");
  }
}

t.test(
  "beyond the queue tiles are answered 503 with Retry-After, and cached ones still served",
  async (t) => {
    await fetch(url);
    const far = (index: number) => tileUrl(server, "m", { lon: -170 + index * 12, lat: 60, z: 9 });
    let pending: Promise<Response>[] = [];
    await withLockedLayer(async () => {
      pending = Array.from({ length: 12 }, (_, index) => fetch(far(index)));
      const refused = await Promise.any(
        pending.map(async (wait) => {
          const answer = await wait;
          if (answer.status !== 503) throw new Error(String(answer.status));
          return answer;
        }),
      );
      t.ok(Number(refused.headers.get("retry-after")) >= 1);
      t.equal((await fetch(url)).status, 200);
    });
    const statuses = await Promise.all(pending.map(async (wait) => (await wait).status));
    t.ok(statuses.includes(200), "what was in the queue is drawn");
    t.same(new Set(statuses), new Set([200, 503]));
  },
);

t.test("a render whose objects do not come in time is given up, and not remembered", async (t) => {
  const place = tileUrl(server, "m", { lon: 7, lat: 7, z: 12 });
  const restarts = node.services.render.counts().restarts;
  await withLockedLayer(async () => {
    const answer = await fetch(place);
    t.equal(answer.status, 200);
    t.ok(answer.headers.get("x-tile-incomplete"));
  });
  const whole = await fetch(place);
  t.match([whole.status, whole.headers.get("x-tile-incomplete")], [200, null]);
  t.equal(node.services.render.counts().restarts, restarts, "its host draws on");
});

t.test("killing the render host again and again under load loses no request", async (t) => {
  let running = true;
  let kills = 0;
  const killer = (async () => {
    while (running) {
      await new Promise((resolve) => setTimeout(resolve, 700));
      await node.services.render.whenReady();
      const pid = node.services.render.pid;
      if (running && pid !== undefined) {
        process.kill(pid, "SIGKILL");
        kills++;
        await waitFor(() => node.services.render.pid !== pid && node.services.render.ready);
      }
    }
  })();
  const refused: string[] = [];
  // Starting a host takes long where the machine has other work.
  const until = Date.now() + 60_000;
  let at = 0;
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      while (kills < 3 && Date.now() < until) {
        const index = at++;
        const place = { lon: -179 + ((index * 7) % 350), lat: -60 + ((index * 3) % 120), z: 10 };
        const answer = await fetch(tileUrl(server, "m", place));
        const body = await answer.text();
        if (answer.status !== 200) refused.push(`${answer.status} ${body}`);
      }
    }),
  );
  running = false;
  await killer;
  t.ok(kills >= 3, `${kills} kills`);
  t.same(refused, []);
});

t.test("a client that leaves takes its render out of the queue", async (t) => {
  const before = node.services.tiles.rendered;
  await withLockedLayer(async () => {
    const leave = new AbortController();
    const blocked = Array.from({ length: mostOfOwner }, (_, index) =>
      fetch(tileUrl(server, "m", { lon: 20 + index * 12, lat: 50, z: 9 })),
    );
    await waitFor(() => node.services.render.counts().running === mostOfOwner);
    const gone = fetch(tileUrl(server, "m", { lon: 100, lat: 50, z: 9 }), { signal: leave.signal });
    await waitFor(() => node.services.render.counts().waiting === 1);
    leave.abort();
    await t.rejects(gone);
    await waitFor(() => node.services.render.counts().waiting === 0);
    await server.sql.query("rollback");
    for (const wait of blocked) t.equal((await wait).status, 200);
  });
  t.equal(node.services.tiles.rendered - before, mostOfOwner);
});
