import { createHash } from "node:crypto";
import { createServer } from "node:http";
import t from "tap";
import { startServer, waitFor } from "../support/server.js";

/** How the server hands out the page and its files. */

const server = await startServer();
t.teardown(() => server.stop());
const get = (path: string, headers: Record<string, string> = {}) => fetch(server.url + path, { headers });
const page = await (await get("/")).text();
const build = /viewer\/([\w-]+)\/app\.js/.exec(page)?.[1];

t.test("the page allows nothing but its own files", async (t) => {
  const answer = await get("/");
  t.equal(answer.status, 200);
  t.match(answer.headers.get("content-type"), /^text\/html/);
  t.equal(answer.headers.get("cache-control"), "public, max-age=0, must-revalidate");
  t.equal(answer.headers.get("x-content-type-options"), "nosniff");
  t.equal(answer.headers.get("referrer-policy"), "no-referrer");
  const policy = answer.headers.get("content-security-policy") ?? "";
  for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]) {
    t.ok(policy.includes(rule), rule);
  }
  t.notMatch(policy, /unsafe|https?:/);
});

t.test(
  "the page names no other host, and has no code in it but one script, which its policy names",
  async (t) => {
    t.notMatch(page, /(src|href)="(https?:)?\/\//);
    const scripts = [...page.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script]) => script!);
    t.equal(scripts.length, 1);
    t.notMatch(page.replace(scripts[0]!, ""), /<style|style=|onload=/);
    const hash = createHash("sha256").update(scripts[0]!).digest("base64");
    for (const path of ["/", "/embed"])
      t.ok(
        (await get(path)).headers
          .get("content-security-policy")
          ?.includes(`script-src 'self' 'sha256-${hash}';`),
        path,
      );
    t.match(
      (await get(`/viewer/${build}/app.js`)).headers.get("content-security-policy"),
      /script-src 'self';/,
    );
  },
);

t.test("every file that the page names is there, and may be kept for ever", async (t) => {
  const addresses = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
  // On a slow line each request counts.
  t.equal(addresses.length, 3);
  for (const address of addresses) {
    const answer = await get(`/${address}`);
    t.equal(answer.status, 200, address);
    t.equal(answer.headers.get("cache-control"), "public, max-age=31536000, immutable");
    t.match(answer.headers.get("content-type"), /^(text\/(javascript|css)|image\/svg\+xml)/);
  }
});

t.test("scripts and styles are sent compressed, and are small", async (t) => {
  const addresses = [...page.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map((match) => match[1]!);
  let sent = 0;
  for (const address of addresses) {
    const plain = await get(`/${address}`, { "accept-encoding": "identity" });
    const text = await plain.text();
    for (const [asked, encoding] of [
      ["gzip, deflate", "gzip"],
      ["gzip, deflate, br, zstd", "br"],
    ] as const) {
      // As it is on the line: the client decodes what it is given.
      const answer = await get(`/${address}`, { "accept-encoding": asked });
      t.equal(answer.headers.get("content-encoding"), encoding, address);
      t.equal(answer.headers.get("vary"), "Accept-Encoding");
      t.not(answer.headers.get("etag"), plain.headers.get("etag"));
      t.equal(await answer.text(), text);
      if (encoding === "br") sent += Number(answer.headers.get("content-length"));
      const known = { "accept-encoding": asked, "if-none-match": answer.headers.get("etag")! };
      t.equal((await get(`/${address}`, known)).status, 304);
    }
  }
  t.ok(sent > 10_000 && sent < 150_000, `${sent} bytes`);
});

t.test("Leaflet's pictures are there", async (t) => {
  const answer = await get(`/viewer/${build}/images/layers.png`);
  t.equal(answer.status, 200);
  t.equal(answer.headers.get("content-type"), "image/png");
});

t.test("a file asked for under an older build's name is today's and is not kept", async (t) => {
  const answer = await get("/viewer/older/app.js");
  t.equal(answer.status, 200);
  t.equal(answer.headers.get("cache-control"), "public, max-age=0, must-revalidate");
});

t.test("a file that has not changed is answered 304", async (t) => {
  for (const path of ["/", `/viewer/${build}/viewer.css`]) {
    const etag = (await get(path)).headers.get("etag")!;
    const again = await get(path, { "if-none-match": `"other", W/${etag}` });
    t.equal(again.status, 304, path);
    t.equal(await again.text(), "");
    t.equal((await get(path, { "if-none-match": '"other"' })).status, 200);
  }
});

t.test("only the table's files are served", async (t) => {
  for (const path of [
    `/viewer/${build}/..%2f..%2fconfig.js`,
    `/viewer/${build}/%2e%2e/files.js`,
    `/viewer/${build}/index.html`,
    `/viewer/${build}/tsconfig.json`,
    `/viewer/${build}/__proto__`,
    `/viewer/${build}/images/..%2fapp.js`,
  ]) {
    t.equal((await get(path)).status, 404, path);
  }
});

t.test("the list of maps names published ones, in the language that is asked for", async (t) => {
  const token = await server.token("admin");
  await server.api("POST", "", { token, body: { code: "open", name: "Open" } });
  await server.api("POST", "", { token, body: { code: "closed", name: "Closed" } });
  await server.sql.query("update map set has_publication = false where code = 'closed'");
  await server.sql.query(
    `update map set localized_name = true, names = '{"ru": "Открытая"}' where code = 'open'`,
  );
  const list = async (query: string, headers: Record<string, string> = {}) =>
    (await (await get(`/viewer/maps.json${query}`, headers)).json()) as {
      code: string;
      maps: { code: string; name: string; isPrivate: boolean }[];
    }[];
  t.match(await list("?lng=ru"), [
    { code: "p", maps: [{ code: "open", name: "Открытая", isPrivate: false }] },
  ]);
  // What another SQL client changes is known to the node a moment later.
  await waitFor(async () => (await list("?project=p"))[0]?.maps.length === 1);
  t.match(await list("?project=p"), [{ maps: [{ code: "open" }] }]);
  const mine = await list("?project=p", { authorization: `Bearer ${token}` });
  t.match(mine[0]?.maps, [{ code: "open" }, { code: "closed", isPrivate: true }]);
  t.same(await list("?project=none"), []);
  t.equal((await get("/viewer/maps.json?project=p", { authorization: "Bearer wrong" })).status, 401);
});

t.test("a map that is closed to the public is not listed", async (t) => {
  await server.sql.query(
    `insert into access_grant (project_id, map_id, rights)
       select project_id, id, 0 from map where code = 'open'`,
  );
  await waitFor(async () => {
    const list = (await (await get("/viewer/maps.json")).json()) as unknown[];
    return list.length === 0;
  });
  t.pass("after a moment it is gone, and with it its project, which has no other");
  const token = await server.token("viewer");
  const asked = async (headers: Record<string, string>) =>
    await (await get("/viewer/maps.json?project=p", headers)).json();
  t.same(await asked({}), [], "whoever knows the project's code learns no more");
  t.match(await asked({ authorization: `Bearer ${token}` }), [{ code: "p", maps: Array }]);
});

t.test("behind a proxy that adds a path the page finds its files", async (t) => {
  const proxy = createServer(async (request, response) => {
    const path = request.url ?? "";
    if (!path.startsWith("/geo/")) return void response.writeHead(404).end();
    const answer = await fetch(server.url + path.slice("/geo".length));
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  t.teardown(() => proxy.close());
  const address = proxy.address() as { port: number };
  const base = `http://127.0.0.1:${address.port}/geo/`;
  const text = await (await fetch(base)).text();
  const names = [...text.matchAll(/(?:src|href)="([^"]+)"|import\("([^"]+)"\)/g)];
  t.ok(names.some(([, , text]) => text?.endsWith("/texts/russian.js")));
  for (const [, file, text] of names) {
    const name = file ?? text!;
    t.equal((await fetch(new URL(name, base))).status, 200, name);
  }
});
