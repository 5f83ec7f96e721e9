import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { freePort, running, withSystemPrograms } from "../caches.js";

/** HAProxy in front of nodes that come and go, as the page on several nodes has it, with checks that are as quick as a test. */

export interface Balancer {
  /** Without a slash at its end. */
  readonly url: string;
  /** Sends a node no new request, whatever it says of itself. */
  leave(port: number): Promise<void>;
  stop(): Promise<void>;
}

/** @param ports of all nodes that there will be; a node is used while it is ready */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "mapwright-haproxy-"));
  const file = join(folder, "haproxy.cfg");
  const socket = join(folder, "admin");
  writeFileSync(
    file,
    `global
    stats socket ${socket} level admin
defaults
    mode http
    timeout connect 5s
    timeout check 20s
    timeout client 1m
    timeout server 1m
frontend web
    bind 127.0.0.1:${port}
    default_backend mapwright
backend mapwright
    balance roundrobin
    option redispatch 1
    option httpchk
    http-check send meth GET uri /health/ready ver HTTP/1.1 hdr Host maps.example.org
    http-check expect status 200
${ports.map((one) => `    server node${one} 127.0.0.1:${one} check inter 300ms fall 2 rise 1 pool-purge-delay 1s\n`).join("")}`,
  );
  const child = spawn("haproxy", ["-db", "-f", file], {
    stdio: ["ignore", "pipe", "pipe"],
    env: withSystemPrograms(),
  });
  const { url, stop } = await running(child, port, folder);
  const leave = async (one: number) => {
    const admin = connect(socket);
    admin.end(`set server mapwright/node${one} state maint\n`);
    const answer = await text(admin);
    if (answer.trim() !== "") throw new Error(`HAProxy: ${answer}`);
  };
  return { url, leave, stop };
}
