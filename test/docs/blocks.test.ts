import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { blocksOf } from "../../src/docs/build/reference/examples.js";
import { loadPages } from "../../src/docs/pages.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/**
 * Blocks of the documentation that are no commands: each is read by the program that it is for. Of commands that would
 * change the machine it is the syntax, where no machine can be made; `machine.test.ts` runs them.
 */

const blocks = loadPages().flatMap(({ path, markdown }) =>
  blocksOf(markdown).map((block) => ({ path, ...block })),
);
const of = (...languages: readonly string[]) => blocks.filter(({ language }) => languages.includes(language));
t.setTimeout(900_000);
const folder = mkdtempSync(join(tmpdir(), "mapwright-blocks-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

/** What a program says of a configuration that it does not take; "" = it takes it. */
function complaint(command: string, args: readonly string[], input?: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: "utf8",
    timeout: 60_000,
    ...(input !== undefined && { input }),
  });
  return status === 0 ? "" : `${error ?? ""}${stdout}${stderr}`;
}

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "l", "#l { marker-width: 4; }");

// In place of certificates that a reader has from elsewhere.
const pem = join(folder, "maps.pem");
const key = join(folder, "key.pem");
const certificate = join(folder, "certificate.pem");
t.equal(
  complaint("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"],
    ...["-subj", "/CN=maps.example.org", "-keyout", key, "-out", certificate],
  ]),
  "",
);
complaint("sh", ["-c", `cat ${key} ${certificate} > ${pem}`]);

t.test("commands of lessons and guides are no longer than a page is wide", async (t) => {
  const isOfReaders = ({ path }: { path: string }) => /^(?:tutorials|how-to)\//.test(path);
  const lines = of("sh")
    .filter(isOfReaders)
    .flatMap(({ path, code }) => code.split("\n").map((line) => `${path}: ${line}`));
  t.same(
    lines.filter((line) => !/^\S+ #/.test(line) && line.length - line.indexOf(" ") - 1 > 84),
    [],
  );
});

t.test("all blocks are of languages that something reads", async (t) => {
  const known = "sh json css html csv sql nginx caddy haproxy ini yaml lua xml text".split(" ");
  t.same(
    blocks
      .filter(({ language }) => !known.includes(language))
      .map(({ path, language }) => `${path} ${language}`),
    [],
  );
  t.ok(blocks.length > 200, `${blocks.length} blocks`);
});

t.test("JSON is JSON", async (t) => {
  for (const { path, code } of of("json")) t.doesNotThrow(() => JSON.parse(code), path);
});

t.test("commands that change the machine have no mistake in their syntax", async (t) => {
  const found = of("sh").filter(({ words }) => words.includes("machine"));
  t.ok(found.length > 0);
  for (const { path, code } of found) t.equal(complaint("bash", ["-n"], code), "", `${path}: ${code}`);
});

t.test("configurations of nginx are taken", async (t) => {
  for (const [at, { path, code }] of of("nginx").entries()) {
    const place = join(folder, `nginx${at}`);
    mkdirSync(join(place, "logs"), { recursive: true });
    const inner = code
      .replaceAll(/\S+fullchain\.pem/g, certificate)
      .replaceAll(/\S+privkey\.pem/g, key)
      .replaceAll(/listen (?:\[::\]:)?\d+/g, (listen) => listen.replace(/\d+$/, "0"))
      .replaceAll("/var/cache/nginx", join(place, "cache"))
      // Port 0 once for each address is enough.
      .replaceAll(
        /listen ((?:\[::\]:)?)0/g,
        (_, address: string) => `listen ${address === "" ? "127.0.0.1:1" : "[::1]:1"}`,
      );
    mkdirSync(join(place, "cache"), { recursive: true });
    const http = /^\s*http\s*\{/m.test(inner)
      ? inner
      : `http { access_log off;\n${/^\s*(?:server|upstream|map|proxy_cache_path)\b/m.test(inner) ? inner : `server { listen 127.0.0.1:1; ${inner} }`}\n}`;
    writeFileSync(join(place, "nginx.conf"), `pid ${place}/pid;\nerror_log stderr;\nevents {}\n${http}\n`);
    t.equal(complaint("nginx", ["-t", "-q", "-p", place, "-c", join(place, "nginx.conf")]), "", path);
  }
});

t.test("a proxy leaves idle connections before the server does", async (t) => {
  // The server closes them after eight to twelve seconds. A body that arrives just then is lost, and answered 502.
  const seconds = (code: string, name: string) =>
    Number(new RegExp(`${name}\\s*=?\\s*(\\d+)s?\\b`).exec(code)?.[1]);
  const keeping = of("nginx").filter(({ code }) => /^\s*keepalive \d+;/m.test(code));
  t.equal(keeping.length, 1);
  for (const { path, code } of keeping) t.ok(seconds(code, "keepalive_timeout") < 8, path);
  for (const { path, code } of of("caddy")) t.ok(seconds(code, "keepalive") < 8, path);
});

t.test("configurations of Caddy are taken", async (t) => {
  for (const { path, code } of of("caddy")) {
    const file = join(folder, "Caddyfile");
    writeFileSync(file, code);
    t.equal(complaint("caddy", ["adapt", "--config", file, "--validate"]), "", path);
  }
});

t.test("configurations of HAProxy are taken", async (t) => {
  for (const { path, code } of of("haproxy")) {
    const file = join(folder, "haproxy.cfg");
    const text = code
      .replaceAll("/etc/haproxy/maps.pem", pem)
      .replaceAll(/(?<=bind )\S*:(?=\d)/g, "127.0.0.1:");
    writeFileSync(file, text);
    t.equal(complaint("haproxy", ["-c", "-q", "-f", file]), "", path);
  }
});

t.test("HAProxy starts by them where few files may be open", async (t) => {
  for (const [at, { path, code }] of of("haproxy").entries()) {
    const file = join(folder, `haproxy${at}.cfg`);
    const started = join(folder, `haproxy${at}.pid`);
    let socket = 0;
    const text = code
      .replaceAll("/etc/haproxy/maps.pem", pem)
      .replaceAll(/(?<=bind )\S+/g, () => `unix@${join(folder, `${at}-${socket++}`)}`)
      // For root only.
      .replaceAll(/^ +(?:user|group|chroot) .*$/gm, "");
    writeFileSync(file, text);
    const start = `ulimit -n 10000; exec haproxy -D -p ${started} -f ${file}`;
    if (!t.equal(complaint("sh", ["-c", start]), "", path)) continue;
    for (const pid of readFileSync(started, "utf8").trim().split("\n")) process.kill(Number(pid));
  }
});

t.test("units of systemd have nothing that it does not know", async (t) => {
  for (const { path, code } of of("ini")) {
    const sections = new Set([...code.matchAll(/^\[(\w+)\]$/gm)].map(([, name]) => name));
    t.ok(sections.has("Unit") || sections.has("Timer") || sections.has("Service"), path);
    for (const line of code.split("\n")) t.match(line, /^(?:#.*|\[\w+\]|[A-Z]\w*=.*|)$/, `${path}: ${line}`);
  }
});

t.test("styles are taken", async (t) => {
  const places = ["symbols/tree.svg", "leaf.svg", "symbols/leaf.svg"];
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>';
  for (const place of places)
    await fetch(`${server.url}/api/2.8/p/pictures/${place}`, {
      method: "PUT",
      headers: { "x-token": token, "content-type": "image/svg+xml" },
      body: svg,
    });
  for (const { path, code } of of("css")) {
    const isOfMap = /\bMap\s*\{/.test(code);
    const body = isOfMap ? { css_style: code } : { parent_id: 0, css_style: code };
    const answer = await server.api("PATCH", isOfMap ? "m/" : "m/layers/l/", { token, body });
    t.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`);
  }
});

t.test("statements of SQL run", async (t) => {
  for (const { path, code } of of("sql")) await t.resolves(server.sql.query(code), path);
});
