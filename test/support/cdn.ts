import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FrontCache, replaced, running, withSystemPrograms } from "../../bench/caches.js";

/** Settings of a server whose answers name what they show, for a CDN that is never there. */
export const toldCdn = { "edge.kind": "hook", "edge.urls": ["http://127.0.0.1:9/"] };

/** nginx on a port, in front of the server at `backend`, with the shipped file. */
export const startNginx = (port: number, ...backends: readonly number[]): Promise<FrontCache> =>
  runNginx(port, (folder) => {
    let site = readFileSync("config/nginx/mapwright.conf", "utf8");
    site = replaced(site, "/var/cache/nginx/mapwright", join(folder, "cache"));
    const servers = backends.map((backend) => `server 127.0.0.1:${backend};`);
    site = replaced(site, "server 127.0.0.1:8080;", servers.join(" "));
    return replaced(site, "listen 80;", `listen 127.0.0.1:${port};`);
  });

/** The same as somebody sets it up who has read nothing. @param more directives beside `proxy_pass` */
export const startPlainNginx = (port: number, backend: number, more = ""): Promise<FrontCache> =>
  runNginx(
    port,
    () =>
      `server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${backend}; ${more} } }`,
  );

/** @param siteOf what is in its http section; it may use the folder */
async function runNginx(port: number, siteOf: (folder: string) => string): Promise<FrontCache> {
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
