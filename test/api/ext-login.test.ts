import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, type JWTPayload, SignJWT } from "jose";
import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import { startServer } from "../support/server.js";

const keysDir = await mkdtemp(join(tmpdir(), "mapwright-keys-"));
const folder = join(keysDir, "p");
await mkdir(folder);
const server = await startServer({ config: { "external.keysDir": keysDir } });
t.teardown(async () => {
  await server.stop();
  await rm(keysDir, { recursive: true });
});
const { services } = server.nodes[0]!;

const secret = randomBytes(32).toString("base64url");
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ed = generateKeyPairSync("ed25519");
const pem = (key: KeyObject) => key.export({ type: "spki", format: "pem" }) as string;

/** Puts a file of keys in place at once. */
async function put(name: string, content: string, to = folder): Promise<void> {
  await writeFile(join(to, `${name}.new`), content);
  await rename(join(to, `${name}.new`), join(to, name));
}
const remove = (name: string) => rm(join(folder, name));

await put("shared.secret", `${secret}\n`);
await put("rsa.pem", pem(rsa.publicKey));
await put("ec.pem", pem(ec.publicKey));
await put("others.jwks.json", JSON.stringify({ keys: [{ ...(await exportJWK(ed.publicKey)), kid: "ed" }] }));

interface Signing {
  readonly alg: string;
  readonly key: KeyObject | Uint8Array;
  readonly kid?: string;
}
const signings: Record<string, Signing> = {
  HS256: { alg: "HS256", key: Buffer.from(secret) },
  RS256: { alg: "RS256", key: rsa.privateKey },
  ES256: { alg: "ES256", key: ec.privateKey },
  EdDSA: { alg: "EdDSA", key: ed.privateKey, kid: "ed" },
};

const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const claims = (more: JWTPayload = {}): JWTPayload => ({ sub: "editor", aud: "p", exp: inAnHour(), ...more });
const sign = (payload: JWTPayload, { alg, key, kid }: Signing = signings.HS256!): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg, ...(kid ? { kid } : {}) }).sign(key);

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
/** A token with this header, signed by HMAC with any key, as no library would. */
function forge(header: unknown, key: string | Buffer, payload = JSON.stringify(claims())): string {
  const text = `${base64(header)}.${Buffer.from(payload).toString("base64url")}`;
  return `${text}.${createHmac("sha256", key).update(text).digest("base64url")}`;
}

const extLogin = (token: string) => server.api("POST", "ext-login/", { body: { token } });
const refusal = "The external token is not accepted.";

for (const [name, signing] of Object.entries(signings)) {
  t.test(`a token signed with ${name} opens a session of its user`, async (t) => {
    const answer = await extLogin(await sign(claims(), signing));
    t.equal(answer.status, 200);
    t.match(answer.headers.get("cache-control"), /private, no-store/);
    t.same(Object.keys(answer.json), ["token"]);
    const { token } = answer.json;
    t.equal((await server.api("GET", "authorized/", { token })).text, "true");
    t.equal(
      (await server.api("GET", "users/list/", { token })).status,
      403,
      "with the user's rights, no more",
    );
    t.equal((await server.api("POST", "", { token, body: { code: `by_${name}` } })).status, 200);
  });
}

t.test("the token travels as any other does", async (t) => {
  const token = await sign(claims());
  const base = `${server.url}/api/2.8/p/ext-login/`;
  const multipart = new FormData();
  multipart.set("token", token);
  for (const answer of [
    await fetch(`${base}?token=${token}`, { method: "POST" }),
    await fetch(base, { method: "POST", body: new URLSearchParams({ token }) }),
    await fetch(base, { method: "POST", body: multipart }),
    await fetch(base, { method: "POST", headers: { authorization: `Bearer ${token}` } }),
  ]) {
    t.equal(answer.status, 200);
    await answer.text();
  }
  t.match(await server.api("POST", "ext-login/"), {
    status: 500,
    json: { code: "required_parameters", data: { required: ["token"] } },
  });
});

t.test("what a token lacks is refused, and nobody is told what it was", async (t) => {
  const now = Math.floor(Date.now() / 1000);
  const stranger = generateKeyPairSync("ed25519").privateKey;
  const other = await createProject(services.db, { code: "q" });
  await addMember(services.db, { login: "elsewhere", password: "x", projectId: other, role: "admin" });
  const good = await sign(claims());
  const [head, body, signature] = good.split(".") as [string, string, string];
  const rsaPem = pem(rsa.publicKey);
  const refused: Record<string, string> = {
    "an ended one": await sign(claims({ exp: now - 60 })),
    "one without an end": await sign({ sub: "editor", aud: "p" }),
    "one that does not hold yet": await sign(claims({ nbf: now + 600 })),
    "one for another audience": await sign(claims({ aud: "q" })),
    "one for several others": await sign(claims({ aud: ["q", "r"] })),
    "one for nobody": await sign({ sub: "editor", exp: now + 600 }),
    "one without a user": await sign({ aud: "p", exp: now + 600 }),
    "one whose user is a number": await sign(claims({ sub: 1 as unknown as string })),
    "one whose user is empty": await sign(claims({ sub: "" })),
    "an unknown user": await sign(claims({ sub: "nobody" })),
    "a user of another project": await sign(claims({ sub: "elsewhere" })),
    "the public": await sign(claims({ sub: "public" })),
    "a user with a NUL": await sign(claims({ sub: "editor\0" })),
    "another's signature": await sign(claims(), { alg: "EdDSA", key: stranger, kid: "ed" }),
    "another's secret": await sign(claims(), { alg: "HS256", key: randomBytes(32) }),
    "another key id": await sign(claims(), { ...signings.EdDSA!, kid: "other" }),
    "an algorithm that nobody asked for": await sign(claims(), {
      alg: "HS512",
      key: Buffer.from(secret + secret),
    }),
    "another RSA scheme": await sign(claims(), { alg: "PS256", key: rsa.privateKey }),
    "no algorithm": `${base64({ alg: "none" })}.${body}.`,
    "no algorithm, signed": `${base64({ alg: "none" })}.${body}.${signature}`,
    NONE: `${base64({ alg: "NONE" })}.${body}.`,
    "HMAC with the public RSA key": forge({ alg: "HS256" }, rsaPem),
    "HMAC with the public RSA key, trimmed": forge({ alg: "HS256" }, rsaPem.trimEnd()),
    "HMAC with its DER": forge(
      { alg: "HS256" },
      createPublicKey(rsaPem).export({ type: "spki", format: "der" }),
    ),
    "HMAC called RS256": forge({ alg: "RS256" }, secret),
    "HMAC with nothing": forge({ alg: "HS256" }, ""),
    "a key of its own": forge({ alg: "HS256", jwk: { kty: "oct", k: "AAAA" } }, Buffer.alloc(3)),
    "a key from elsewhere": forge(
      { alg: "HS256", jku: "http://127.0.0.1:1/", kid: "../p/shared.secret" },
      "x",
    ),
    "a header that must be understood": forge({ alg: "HS256", crit: ["b64"], b64: false }, secret),
    "other claims": `${head}.${base64(claims({ sub: "admin" }))}.${signature}`,
    "no signature": `${head}.${body}.`,
    "half a signature": `${head}.${body}.${signature.slice(0, 20)}`,
    "two parts": `${head}.${body}`,
    "five parts": `${head}.${body}.${signature}.a.b`,
    "no token at all": "hello",
    dots: "..",
    ...Object.fromEntries(
      ["1e400", "-1e400", "-1", '"9999999999"', "null", "true", "[9999999999]", "NaN"].map((end) => [
        `one that ends at ${end}`,
        forge({ alg: "HS256" }, secret, `{"sub":"editor","aud":"p","exp":${end}}`),
      ]),
    ),
    "an array": `${base64([])}.${base64([])}.AAAA`,
    "claims that are no object": forge([], secret),
    "a very long one": `${head}.${"A".repeat(50_000)}.${signature}`,
  };
  for (const [name, token] of Object.entries(refused)) {
    const answer = await extLogin(token);
    t.equal(answer.status, 403, name);
    t.match(answer.text, refusal, name);
    t.notMatch(answer.text, /exp|aud|key|signature|claim/i);
  }
  t.equal((await extLogin(good)).status, 200);
});

t.test("a token that was changed anywhere is refused", async (t) => {
  const good = await sign(claims());
  const signed = good.lastIndexOf(".");
  for (let at = 0; at < signed; at++) {
    for (const put of [good[at] === "A" ? "B" : "A", "", ".", "%", "é"]) {
      if (put === good[at]) continue;
      const answer = await extLogin(good.slice(0, at) + put + good.slice(at + 1));
      if (answer.status !== 403) t.equal(answer.status, 403, `"${put}" at ${at}`);
    }
  }
  t.pass(`${signed} places`);
});

t.test("clocks may differ a little", async (t) => {
  const now = Math.floor(Date.now() / 1000);
  t.equal((await extLogin(await sign(claims({ exp: now - 2 })))).status, 200);
  t.equal((await extLogin(await sign(claims({ nbf: now + 5 })))).status, 200);
});

t.test("a file that comes or goes counts with the next request", async (t) => {
  const next = generateKeyPairSync("ed25519");
  const token = await sign(claims(), { alg: "EdDSA", key: next.privateKey });
  t.equal((await extLogin(token)).status, 403);
  await put("next.pem", pem(next.publicKey));
  t.equal((await extLogin(token)).status, 200);
  await put("next.pem", pem(generateKeyPairSync("ed25519").publicKey));
  t.equal((await extLogin(token)).status, 403, "replaced by another of the same length");
  await put("next.pem", pem(next.publicKey));
  t.equal((await extLogin(token)).status, 200);
  await remove("next.pem");
  t.equal((await extLogin(token)).status, 403);
});

t.test("while keys are rotated the old and the new one count", async (t) => {
  const old = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const young = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = async (key: KeyObject, kid: string) => ({
    ...(await exportJWK(key)),
    kid,
    use: "sig",
    alg: "ES256",
  });
  await put(
    "rotated.jwks.json",
    JSON.stringify({ keys: [await jwk(old.publicKey, "1"), await jwk(young.publicKey, "2")] }),
  );
  for (const [key, kid] of [
    [old.privateKey, "1"],
    [young.privateKey, "2"],
  ] as const) {
    t.equal((await extLogin(await sign(claims(), { alg: "ES256", key, kid }))).status, 200);
    t.equal(
      (await extLogin(await sign(claims(), { alg: "ES256", key }))).status,
      200,
      "without a key id too",
    );
  }
  await remove("rotated.jwks.json");
});

t.test("keys that protect nobody are not used", async (t) => {
  const weak = generateKeyPairSync("rsa", { modulusLength: 1024 });
  const short = randomBytes(15).toString("hex");
  const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
  const pair = generateKeyPairSync("ed25519");
  const files: Record<string, [string, string]> = {
    "short.secret": [short, forge({ alg: "HS256" }, short)],
    "empty.secret": ["\n", forge({ alg: "HS256" }, "")],
    "private.pem": [
      pair.privateKey.export({ type: "pkcs8", format: "pem" }) as string,
      await sign(claims(), { alg: "EdDSA", key: pair.privateKey }),
    ],
    "private.jwks.json": [
      JSON.stringify({ keys: [await exportJWK(pair.privateKey)] }),
      await sign(claims(), { alg: "EdDSA", key: pair.privateKey }),
    ],
    "shared.jwks.json": [
      JSON.stringify({ keys: [{ kty: "oct", k: Buffer.from("k".repeat(40)).toString("base64url") }] }),
      forge({ alg: "HS256" }, "k".repeat(40)),
    ],
    "p384.pem": [pem(p384.publicKey), await sign(claims(), { alg: "ES384", key: p384.privateKey })],
    "weak.pem": [pem(weak.publicKey), forge({ alg: "RS256" }, "x")],
    "damaged.jwks.json": ["{", forge({ alg: "HS256" }, "{")],
    "damaged.pem": [
      "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
      forge({ alg: "HS256" }, "x"),
    ],
  };
  for (const [name, [content, token]] of Object.entries(files)) {
    await put(name, content);
    t.equal((await extLogin(token)).status, 403, name);
    t.equal((await extLogin(await sign(claims()))).status, 200, `${name}: the others count on`);
    await remove(name);
  }
});

t.test("a project may expect an audience, an issuer and a claim of its own", async (t) => {
  await put(
    "options.json",
    JSON.stringify({ audience: ["maps", "geo"], issuer: "https://id", claim: "email" }),
  );
  const token = (more: JWTPayload) =>
    sign({ email: "viewer", aud: "geo", iss: "https://id", exp: inAnHour(), ...more });
  t.equal((await extLogin(await token({}))).status, 200);
  t.equal((await extLogin(await token({ aud: "p" }))).status, 403);
  t.equal((await extLogin(await token({ iss: "https://other" }))).status, 403);
  t.equal((await extLogin(await token({ email: undefined, sub: "viewer" }))).status, 403);
  t.equal((await extLogin(await token({ email: "__proto__" }))).status, 403);
  await put("options.json", JSON.stringify({ claim: "constructor" }));
  t.equal((await extLogin(await sign(claims()))).status, 403);
  await put("options.json", '{"audience": ');
  t.equal((await extLogin(await token({}))).status, 403, "with damaged options nobody is admitted");
  t.equal((await extLogin(await sign(claims()))).status, 403);
  await remove("options.json");
  t.equal((await extLogin(await sign(claims()))).status, 200);
});

t.test("the keys of one project open no other", async (t) => {
  const login = async (token: string) =>
    (
      await fetch(`${server.url}/api/2.8/q/ext-login/`, {
        method: "POST",
        body: new URLSearchParams({ token }),
      })
    ).status;
  const token = await sign(claims({ sub: "elsewhere", aud: "q" }));
  t.equal(await login(token), 403, "q has no keys");
  await mkdir(join(keysDir, "q"));
  await put("shared.secret", secret, join(keysDir, "q"));
  t.equal(await login(token), 200);
  t.equal(await login(await sign(claims({ sub: "editor", aud: "q" }))), 403, "no user of q");
});
