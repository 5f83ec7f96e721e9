import { setTimeout as sleep } from "node:timers/promises";
import type { Web } from "../../src/viewer/browser/console/operations.js";
import type { Place } from "./place.js";

/** The connection of a browser with the nodes: what it loses, and what went over it. */

/** What becomes of a write. */
export type Fault = {
  /** How many writes are let through before. */
  readonly skip: number;
} /** It does not get to the node. */ & (
  | { readonly kind: "unsent" }
  /** It is done, and its answer is lost. */
  | { readonly kind: "unanswered" }
  /** The connection is cut so long after it was sent. */
  | { readonly kind: "cut"; readonly ms: number }
  /** The node is killed so long after it was sent. */
  | { readonly kind: "kill"; readonly ms: number }
);

/** Something that was to be written, once however often it was sent. */
export interface Write {
  readonly method: string;
  /** Below that of the layer. */
  readonly path: string;
  readonly body: unknown;
  /** Whether somebody knows if it was done. */
  state: "acknowledged" | "refused" | "unknown";
}

/** Refusals that say nothing about an earlier try: they come before anything is looked up. */
const sayNothing = new Set([401, 403, 429]);

export class Link {
  /** By key. */
  readonly writes = new Map<string, Write>();
  fault: Fault | undefined;
  /** The token is not taken any more. */
  isSignedOut = false;

  constructor(
    private readonly place: Place,
    private readonly kill: (node: number) => void,
    /** The node that is talked to. */
    private node: number,
    private readonly trace: (what: string) => void,
  ) {}

  /** Of a page that is left nothing is heard any more. */
  web(left: AbortSignal): Web {
    return {
      headers: () => ({}),
      fetch: async (address, init) => {
        const never = new Promise<Response>(() => undefined);
        if (left.aborted) return never;
        try {
          const answer = await this.send(address, init, left);
          this.note(address, init, answer.status);
          return left.aborted ? never : answer;
        } catch (error) {
          this.note(address, init, (error as Error).message);
          if (left.aborted) return never;
          this.node = (this.node + 1) % this.place.urls.length;
          throw error;
        }
      },
    };
  }

  private async send(address: string, init: RequestInit, left: AbortSignal): Promise<Response> {
    const headers = init.headers as Readonly<Record<string, string>>;
    const isWrite = init.method !== "GET";
    const write = isWrite ? this.noted(headers["idempotency-key"] ?? address, address, init) : undefined;
    const fault = isWrite ? this.met() : undefined;
    if (fault?.kind === "unsent") throw new TypeError("unsent");
    const before = write?.state;
    // What was acknowledged is asked for again when what follows it has failed.
    if (write && before !== "acknowledged") write.state = "unknown";
    const cut = new AbortController();
    const { node } = this;
    if (fault?.kind === "cut") void sleep(fault.ms).then(() => cut.abort());
    if (fault?.kind === "kill") void sleep(fault.ms).then(() => this.kill(node));
    const answer = await fetch(`${this.place.urls[node]}/${address}`, {
      ...init,
      headers: this.isSignedOut ? { ...headers, authorization: "Bearer ended" } : headers,
      signal: AbortSignal.any([cut.signal, left]),
    });
    const text = await answer.text();
    if (fault?.kind === "unanswered") throw new TypeError("the answer is lost");
    if (write) {
      if (before === "acknowledged") write.state = before;
      else if (answer.ok) write.state = "acknowledged";
      else if (sayNothing.has(answer.status)) write.state = before === "unknown" ? "unknown" : "refused";
      else if (answer.status < 502) write.state = "refused";
    }
    return new Response(text, { status: answer.status, headers: answer.headers });
  }

  /** The fault that a write meets now. */
  private met(): Fault | undefined {
    const { fault } = this;
    const isLater = fault !== undefined && fault.skip > 0;
    this.fault = isLater ? { ...fault, skip: fault.skip - 1 } : undefined;
    return isLater ? undefined : fault;
  }

  /** Of reads only what fails. */
  private note(address: string, { method, headers }: RequestInit, end: number | string): void {
    if (method === "GET" && end === 200) return;
    const { "idempotency-key": key = "", "if-match": match = "" } = headers as Readonly<
      Record<string, string>
    >;
    this.trace(`  ${method} ${pathOf(address)} #${key.slice(0, 4)} ${match}: ${end}`);
  }

  private noted(key: string, address: string, init: RequestInit): Write {
    const known = this.writes.get(key);
    if (known) return known;
    const path = pathOf(address);
    const body = init.body === undefined ? undefined : JSON.parse(String(init.body));
    const write: Write = { method: init.method!, path, body, state: "refused" };
    this.writes.set(key, write);
    return write;
  }
}

/** Below the layer. */
const pathOf = (address: string): string => address.replace(/^.*?\/layers\/[^/]+\//, "").split("?")[0]!;
