import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FrontCache, running, withSystemPrograms } from "../../bench/caches.js";

/** Settings of a server whose answers name what they show, for a CDN that is never there. */
export const toldCdn = { "edge.kind": "hook", "edge.urls": ["http://127.0.0.1:9/"] };

/** nginx as somebody sets it up who has read nothing. @param more directives beside `proxy_pass` */
export const startPlainNginx = (port: number, backend: number, more = ""): Promise<FrontCache> =>
  runNginx(
    port,
    () =>
      `server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${backend}; ${more} } }`,
  );

/** nginx on a port. @param siteOf what is in its http section; it may use the folder */
export async function runNginx(port: number, siteOf: (folder: string) => string): Promise<FrontCache> {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-nginx-"));
  const site = siteOf(folder);
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; worker_processes 1; pid ${join(folder, "pid")}; error_log stderr warn;\n` +
      `${process.getuid?.() === 0 ? "user root;" : ""}\n` +
      `events { worker_connections 256; }\nhttp { access_log off; ${folders.join(" ")}\n${site}\n}\n`,
  );
  const child = spawn("nginx", ["-c", join(folder, "nginx.conf"), "-p", folder, "-e", "stderr"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: withSystemPrograms(),
  });
  return running(child, port, folder);
}
