import { createHmac } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Where a token may travel, and which of several counts. */

const server = await startServer();
t.teardown(() => server.stop());
const base = `${server.url}/api/2.8/p`;
await makeMap(server, "m");

const bodies = {
  urlencoded: (token: string) => new URLSearchParams({ token }),
  multipart: (token: string) => {
    const form = new FormData();
    form.set("token", token);
    return form;
  },
  json: (token: string) => JSON.stringify({ token }),
};
type Kind = keyof typeof bodies;

interface Carried {
  readonly query?: string;
  readonly bearer?: string;
  readonly header?: string;
  readonly body?: string;
  /** Default: urlencoded. */
  readonly kind?: Kind;
}

async function post(path: string, { query, bearer, header, body, kind = "urlencoded" }: Carried) {
  const answer = await fetch(`${base}/${path}${query === undefined ? "" : `?token=${query}`}`, {
    method: "POST",
    headers: {
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(header === undefined ? {} : { "x-token": header }),
      ...(kind === "json" ? { "content-type": "application/json" } : {}),
    },
    ...(body === undefined ? {} : { body: bodies[kind](body) }),
  });
  return { status: answer.status, text: await answer.text() };
}

const login = async (): Promise<string> =>
  (await server.api("POST", "login/", { body: { user: "viewer", pass: "viewerviewer" } })).json.token;
const isOpen = async (token: string): Promise<boolean> =>
  (await server.api("GET", "authorized/", { token })).text === "true";

t.test("the first of query, Authorization, X-Token and body counts, whatever the others hold", async (t) => {
  const places = ["query", "bearer", "header", "body"] as const;
  for (const [index, place] of places.entries()) {
    for (const kind of Object.keys(bodies) as Kind[]) {
      const token = await login();
      const wrong = Object.fromEntries(places.slice(index + 1).map((later) => [later, "wrong"]));
      const answer = await post("logout/", { ...wrong, [place]: token, kind });
      t.equal(answer.status, 200, `${place} before a ${kind} body: ${answer.text}`);
      t.notOk(await isOpen(token), "it is that session that ended");
      for (const earlier of places.slice(0, index)) {
        const other = await login();
        t.equal((await post("logout/", { [earlier]: "wrong", [place]: other, kind })).status, 401);
        t.ok(await isOpen(other), `${earlier} before ${place}`);
      }
    }
  }
});

t.test("an empty token is none, and the next place counts", async (t) => {
  const token = await login();
  t.equal((await post("logout/", { query: "", header: "", body: token })).status, 200);
  t.equal((await post("logout/", { query: "", body: "" })).status, 401);
});

t.test("a body is not even looked at once something before it tells who asks", async (t) => {
  for (const [type, body] of [
    ["application/json", "{damaged"],
    ["application/x-www-form-urlencoded", "a=%"],
    ["multipart/form-data; boundary=b", "--b\r\ndamaged"],
  ] as const) {
    const ask = (headers: Record<string, string>, query = "") =>
      fetch(`${base}/logout/${query}`, {
        method: "POST",
        headers: { ...headers, "content-type": type },
        body,
      });
    t.equal((await ask({})).status, 400, `${type} without a token before it`);
    t.equal((await ask({ "x-token": await login() })).status, 200, `${type} with X-Token`);
    t.equal(
      (await ask({ authorization: `bearer ${await login()}` })).status,
      200,
      `${type} with Authorization`,
    );
    t.equal((await ask({}, `?token=${await login()}`)).status, 200, `${type} with a query`);
  }
});

t.test("a token of another system travels in the same places, in the same order", async (t) => {
  const secret = "a secret of thirty-two bytes or more";
  const { config } = server.nodes[0]!.services;
  const folder = join(config.dataDir, "keys", "p");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "partner.secret"), secret);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256" })}.${part({ sub: "viewer", aud: "p", exp: Math.ceil(Date.now() / 1000) + 60 })}`;
  const external = `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
  const places = ["query", "bearer", "header", "body"] as const;
  for (const [index, place] of places.entries()) {
    const wrong = Object.fromEntries(places.slice(index + 1).map((later) => [later, "wrong"]));
    t.equal((await post("ext-login/", { ...wrong, [place]: external })).status, 200, place);
    for (const earlier of places.slice(0, index)) {
      const answer = await post("ext-login/", { [earlier]: "wrong", [place]: external });
      t.equal(answer.status, 403, `${earlier} before ${place}`);
    }
  }
});
