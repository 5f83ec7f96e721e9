import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

/**
 * Replaces globals of Node when this file is loaded: garbage collection must not affect a run, and expensive functions are
 * cached for all worlds.
 */

/** A strong reference: garbage collection is not deterministic. */
class StrongRef<T extends object> {
  constructor(private readonly target: T) {}

  deref(): T {
    return this.target;
  }
}

/** Never called back: nothing is collected. */
class EmptyRegistry {
  register(): void {}
}

/** The part of AbortSignal that the tile path uses; creating Node's takes longer than a simulated request. */
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
  WeakRef: StrongRef,
  FinalizationRegistry: EmptyRegistry,
  AbortController: PlainController,
});

/** Cache by encoding and text: worlds have mostly the same maps. */
const hashes = new Map<string, string>();
const maxHashes = 20_000;
const { createHash } = crypto;

function hashOf(text: string, encoding: "base64" | "base64url"): string {
  const key = encoding + text;
  let hash = hashes.get(key);
  if (hash === undefined) {
    if (hashes.size > maxHashes) hashes.clear();
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
