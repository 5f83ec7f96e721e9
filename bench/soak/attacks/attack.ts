import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../random.js";

/** What a hostile client does for a while. */
export interface Attack {
  readonly name: string;
  /** Attacks until `signal` is aborted, and then lets go. */
  readonly run: (at: Target) => Promise<void>;
  /** How many attack at once. */
  readonly clients: number;
}

export interface Target {
  /** Of a node, without a slash at its end. */
  readonly url: string;
  readonly signal: AbortSignal;
  readonly random: Random;
  /** Address that the client comes from, as the proxy tells. */
  readonly address: string;
  readonly victim: Victim;
}

/** What there is to attack. */
export interface Victim {
  /** Path of a public map with a layer of many objects. */
  readonly map: string;
  readonly layer: string;
  /** A column of texts of that layer. */
  readonly column: string;
  /** Path that tiles of the map begin with. */
  readonly tiles: string;
  readonly login: string;
  /** A project in which the attacker is an editor, with his session; its map has a layer `l` with an object. */
  readonly own: { readonly map: string; readonly token: string; readonly project: string };
}

/** Of hostile clients; each has as many connections as it wants. */
const agent = new Agent({ keepAlive: true, maxFreeSockets: 64 });
/** After a failure: an attack has no use of burning its own CPU time. */
const pauseMs = 50;

export interface Sent {
  readonly method?: string;
  readonly body?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly signal?: AbortSignal;
}

/** Sends a request and reads its answer to the end. @returns its status; 0 when there was none */
export function send(
  { url, signal, address }: Target,
  path: string,
  sent: Sent = {},
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve) => {
    const none = () => resolve({ status: 0, text: "" });
    const headers = {
      "x-forwarded-for": address,
      ...(sent.token === undefined ? {} : { "x-token": sent.token }),
      ...(sent.body === undefined ? {} : { "content-length": String(Buffer.byteLength(sent.body)) }),
      ...sent.headers,
    };
    const asked = request(
      url + path,
      { method: sent.method ?? "GET", agent, headers, signal: sent.signal ?? signal },
      (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => {
          if (text.length < 1_000) text += chunk.toString("latin1");
        });
        response.on("error", none);
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    asked.on("error", none);
    asked.end(sent.body);
  });
}

/** A connection, and the bytes of a request on it. Errors are not told. */
export function open({ url, signal }: Target, head: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on("error", () => undefined);
  const end = () => socket.destroy();
  signal.addEventListener("abort", end, { once: true });
  socket.on("close", () => signal.removeEventListener("abort", end));
  socket.write(head);
  return socket;
}

/** What is made when it is first needed. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Does one thing after the other until the attack is over. */
export async function again({ signal }: Target, act: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted) if (!(await act())) await pause(signal, pauseMs);
}

/** Waits, or until the attack is over. */
export const pause = (signal: AbortSignal, ms: number): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);
