import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

/**
 * What the program takes from the machine it runs on, put in the place of the real thing when this file is loaded: no
 * garbage collector has a say in what happens in a world, and what all worlds need again and again is made once.
 */

/** A reference that ends with its world: when a real one does, no seed decides. */
class LastingRef<T extends object> {
  constructor(private readonly target: T) {}

  deref(): T {
    return this.target;
  }
}

/** Hears of nothing: nothing is collected. */
class NoRegistry {
  register(): void {}
}

/** As much of a signal as the way of a tile uses; making one of Node's takes longer than a whole look at a tile. */
class PlainSignal {
  aborted = false;
  reason: unknown;
  readonly listeners = new Set<() => void>();

  addEventListener(_type: "abort", listener: () => void): void {
    this.listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.listeners.delete(listener);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }
}

class PlainController {
  readonly signal = new PlainSignal();

  abort(reason: unknown): void {
    const { signal } = this;
    if (signal.aborted) return;
    signal.aborted = true;
    signal.reason = reason;
    const listeners = [...signal.listeners];
    signal.listeners.clear();
    for (const listener of listeners) listener();
  }
}

Object.assign(globalThis, {
  WeakRef: LastingRef,
  FinalizationRegistry: NoRegistry,
  AbortController: PlainController,
});

/** Hashes by encoding and text: worlds draw much the same maps. */
const hashes = new Map<string, string>();
const mostHashes = 20_000;
const { createHash } = crypto;

function hashOf(text: string, encoding: "base64" | "base64url"): string {
  const key = encoding + text;
  let hash = hashes.get(key);
  if (hash === undefined) {
    if (hashes.size > mostHashes) hashes.clear();
    hash = createHash("sha256").update(text).digest(encoding);
    hashes.set(key, hash);
  }
  return hash;
}

Object.assign(crypto, {
  createHash: () => ({
    update: (text: string) => ({ digest: (encoding: "base64" | "base64url") => hashOf(text, encoding) }),
  }),
});
syncBuiltinESMExports();
