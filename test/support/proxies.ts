import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FrontCache, freePort, replaced, running, withSystemPrograms } from "../../bench/caches.js";
import { runNginx } from "./cdn.js";

/** Proxies on free ports, by the shipped files: their nodes, ports and certificates are put in the places of those that stand there. */

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
  /** Both in one file. */
  readonly pem: string;
}

/** Signed by itself, for maps.example.org. */
export function makeCertificate(folder: string): Certificate {
  const [key, certificate, pem] = ["key", "certificate", "maps"].map((name) =>
    join(folder, `${name}.pem`),
  ) as [string, string, string];
  const made = spawnSync("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"],
    ...["-subj", "/CN=maps.example.org", "-keyout", key, "-out", certificate],
  ]);
  if (made.status !== 0) throw new Error(String(made.stderr));
  writeFileSync(pem, readFileSync(key, "utf8") + readFileSync(certificate, "utf8"));
  return { certificate, key, pem };
}

export interface Front {
  /** Where HTTP is, whose url it is, and HTTPS. Without a certificate there is only HTTP, which then leads to nodes. */
  readonly tls?: { readonly port: number; readonly certificate: Certificate };
  /** Ports of the nodes. */
  readonly nodes: readonly number[];
}

export async function startNginx({ tls, nodes }: Front): Promise<FrontCache> {
  const port = await freePort();
  return runNginx(port, (folder) => {
    let site = readFileSync("config/nginx/mapwright.conf", "utf8");
    site = replaced(site, "/var/cache/nginx/mapwright", join(folder, "cache"));
    const [server] = /server 127\.0\.0\.1:8080[^;]*;/.exec(site)!;
    site = replaced(site, server, nodes.map((node) => replaced(server, "8080", String(node))).join(" "));
    site = site.replaceAll(/listen \[::\].*;/g, "");
    if (tls) {
      site = replaced(site, "listen 443", `listen 127.0.0.1:${tls.port}`);
      site = site.replace(/\S+fullchain\.pem/, tls.certificate.certificate);
      site = site.replace(/\S+privkey\.pem/, tls.certificate.key);
      return replaced(site, "listen 80;", `listen 127.0.0.1:${port};`);
    }
    const [http2] = site.split("# What comes without HTTPS.");
    return replaced(http2!.replaceAll(/ssl_.*;/g, ""), "listen 443 ssl http2;", `listen 127.0.0.1:${port};`);
  });
}

/** Its checks come every half second. */
export async function startHaproxy({ tls, nodes }: Front): Promise<FrontCache> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "mapwright-haproxy-"));
  const file = join(folder, "haproxy.cfg");
  let text = readFileSync("config/haproxy/haproxy.cfg", "utf8")
    .replaceAll(/^ +(?:user|group|chroot) .*$/gm, "")
    .replaceAll(
      /^ +server node1 .*$/gm,
      nodes.map((node) => `    server node${node} 127.0.0.1:${node}`).join("\n"),
    );
  text = replaced(
    text,
    "inter 2s fall 2 rise 1 pool-purge-delay 4s",
    "inter 500ms fall 2 rise 1 pool-purge-delay 1s",
  );
  text = replaced(text, "bind :80\n", `bind 127.0.0.1:${port}\n`);
  if (tls)
    text = replaced(
      text,
      "bind :443 ssl crt /etc/haproxy/maps.pem",
      `bind 127.0.0.1:${tls.port} ssl crt ${tls.certificate.pem}`,
    );
  else text = text.replace(/^ +bind :443.*$/m, "").replace(/^ +http-request redirect.*$/m, "");
  writeFileSync(file, text);
  return running(
    spawn("haproxy", ["-db", "-f", file], { stdio: ["ignore", "pipe", "pipe"], env: withSystemPrograms() }),
    port,
    folder,
  );
}

/** With HTTPS always. Its checks come every half second. */
export async function startCaddy({ tls, nodes }: Required<Front>): Promise<FrontCache> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "mapwright-caddy-"));
  const file = join(folder, "Caddyfile");
  let text = readFileSync("config/caddy/Caddyfile", "utf8");
  text = replaced(text, "health_interval 2s", "health_interval 500ms");
  const { certificate, key } = tls.certificate;
  text = replaced(text, "maps.example.org} {", `maps.example.org} {\n\ttls ${certificate} ${key}`);
  const head = `{\n\tadmin off\n\thttp_port ${port}\n\thttps_port ${tls.port}\n\tdefault_bind 127.0.0.1\n}\n`;
  writeFileSync(file, head + text);
  return running(
    spawn("caddy", ["run", "--config", file, "--adapter", "caddyfile"], {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...withSystemPrograms(),
        ...{ HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
        NODES: nodes.map((node) => `127.0.0.1:${node}`).join(" "),
      },
    }),
    port,
    folder,
  );
}
