import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { freePort } from "../../bench/caches.js";
import { type Front, makeCertificate, startCaddy, startHaproxy, startNginx } from "../support/proxies.js";
import { waitFor } from "../support/server.js";
import { Node } from "./node.support.js";

/** The proxies by the shipped files, with HTTPS, before two nodes that say what they were asked. */

const folder = mkdtempSync(join(tmpdir(), "mapwright-proxies-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const certificate = makeCertificate(folder);
const run = promisify(execFile);

interface Proxy {
  readonly start: (front: Required<Front>) => Promise<{ url: string; stop(): Promise<void> }>;
  /** Whether it asks nodes if they are ready. */
  readonly asks: boolean;
}
const proxies: Readonly<Record<string, Proxy>> = {
  HAProxy: { start: startHaproxy, asks: true },
  nginx: { start: startNginx, asks: false },
  Caddy: { start: startCaddy, asks: true },
};

const stranger = ["X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: evil.example", "X-Forwarded-Prefix: /evil"];

async function through(t: Test, { start, asks }: Proxy): Promise<void> {
  const nodes = [await new Node().start(), await new Node().start()] as const;
  for (const node of nodes) t.teardown(() => node.stop());
  const port = await freePort();
  const { url, stop } = await start({
    tls: { port, certificate },
    nodes: nodes.map((node) => node.port),
  });
  t.teardown(stop);
  const ask = (path: string, more: readonly string[]) =>
    run("curl", [
      ...["--silent", "--no-buffer", "--cacert", certificate.certificate, "--http2", "--max-time", "10"],
      ...["--resolve", `maps.example.org:${port}:127.0.0.1`, ...more],
      `https://maps.example.org:${port}${path}`,
    ]);
  const curl = async (path: string, ...more: readonly string[]) => {
    const { stdout } = await ask(path, ["--write-out", "\n%{http_version} %{http_code}", ...more]);
    return stdout.split("\n").at(-1)!;
  };
  const answers = async (wanted: string) => {
    await waitFor(async () => (await curl("/")) === wanted);
  };

  await answers("2 200");
  t.pass("HTTP/2 by HTTPS");
  for (const node of nodes) node.asked.length = 0;
  await curl("/api/", ...stranger.flatMap((header) => ["--header", header]));
  const [asked] = nodes.flatMap((node) => node.asked);
  t.equal(asked!.httpVersion, "1.1");
  t.equal(asked!.headers.host, `maps.example.org:${port}`);
  t.equal(asked!.headers["x-forwarded-for"], "127.0.0.1", "who the client is, and not what it says");
  t.equal(asked!.headers["x-forwarded-proto"], "https");
  t.not(asked!.headers["x-forwarded-host"], "evil.example");
  t.notOk(asked!.headers["x-forwarded-prefix"]);

  const plain = await fetch(`${url}/tms/`, { redirect: "manual", headers: { host: "maps.example.org" } });
  t.match(plain.status, /^30[18]$/);
  t.match(plain.headers.get("location"), /^https:\/\//);

  for (const node of nodes) node.asked.length = 0;
  await waitFor(async () => {
    await curl("/");
    return nodes.every((node) => node.asked.length > 0);
  });
  t.pass("both have work");

  const events = await ask("/tms/p/m/changes/", ["--max-time", "1"]).catch(
    (error: { stdout: string }) => error,
  );
  t.match(events.stdout, /^id: 1/, "an answer without an end goes on at once");

  if (asks) {
    const quiet = async (node: Node) => {
      node.asked.length = 0;
      // Where a proxy draws lots, few requests may all go to the other one.
      for (let n = 0; n < 12; n++) if ((await curl("/")) !== "2 200") t.fail("an error");
      return node.asked.length === 0;
    };
    nodes[0].isReady = false;
    await waitFor(() => quiet(nodes[0]));
    t.ok(await quiet(nodes[0]), "a node that is not ready gets nothing");
    nodes[1].isReady = false;
    await waitFor(async () => (await curl("/")) === "2 200" && nodes[0].asked.length > 0);
    t.pass("but when none is");
    nodes[0].isReady = true;
    nodes[1].isReady = true;
    await answers("2 200");
  }
  nodes[0].stop();
  for (let n = 0; n < 6; n++) t.equal(await curl("/"), "2 200", "what a node refuses goes to the other");
}

for (const [name, proxy] of Object.entries(proxies))
  t.test(`${name}: HTTPS, HTTP/2, several nodes`, (t) => through(t, proxy));
