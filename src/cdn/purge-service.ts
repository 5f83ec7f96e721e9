import { eitherSignal } from "../either-signal.js";

/**
 * A service that drops answers from caches in front of the server. Others may share them, so answers are named by keys, all
 * of ours by `edge.name`: nothing else is ever dropped.
 */
export interface PurgeService {
  /** Keys that one batch of changes may have; with more, whole layers, maps or all answers of this server are dropped. */
  readonly mostKeys: number;
  /** When a batch is told again, for answers that were on their way to the cache; 0 = the service sees to that. */
  readonly repeatMs: number;
  /**
   * Drops all answers that have one of the keys, but may ask whether one of them is current after all. Resolves when they are
   * dropped.
   * @throws Error
   */
  purge(keys: readonly string[], signal: AbortSignal): Promise<void>;
  /** As `purge`, and asks for nothing: another server makes other answers of the same. @throws Error */
  forget(keys: readonly string[], signal: AbortSignal): Promise<void>;
  /** For one that asks for everything when it has not heard for a while that it was told of all changes. @throws Error */
  confirm?(signal: AbortSignal): Promise<void>;
}

/** Longest wait for the answer to one request. */
const answerMs = 10_000;
/** Characters of an answer, far more than those of services have. */
const mostRead = 100_000;
/** What is kept of an answer that refuses. */
const mostSaid = 300;

/** Sends a request to a service. @throws Error with what it says, unless it answers 2xx */
export async function send(
  url: string,
  request: {
    readonly method: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly signal: AbortSignal;
    /** Called with an answer that refuses. */
    readonly onRefused?: (answer: Pick<Response, "status" | "headers">) => void;
  },
): Promise<string> {
  const { signal: stopped, onRefused, ...rest } = request;
  const { signal, release } = eitherSignal([stopped, AbortSignal.timeout(answerMs)]);
  try {
    const answer = await fetch(url, { ...rest, redirect: "error", signal });
    const text = await textOf(answer, signal);
    if (answer.ok) return text;
    onRefused?.(answer);
    throw new Error(`The edge answered ${answer.status} to a purge: ${text.slice(0, mostSaid).trim()}`);
  } finally {
    release();
  }
}

/**
 * The text of an answer. Node's own reading is not ended by the signal of the request once the garbage collector has come: an
 * answer that stalls, or has no end, would be waited for as long as that takes.
 * @throws Error when it is too long; the signal's reason
 */
async function textOf({ body }: Response, signal: AbortSignal): Promise<string> {
  if (!body) return "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const leave = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", leave, { once: true });
  try {
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) return text;
      text += value;
      if (text.length > mostRead) throw new Error("The edge answered too much to a purge.");
    }
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}

/** The list in parts of at most so many keys and characters, separators included. */
export function batches(
  keys: readonly string[],
  { most, characters = Number.POSITIVE_INFINITY }: { readonly most: number; readonly characters?: number },
): string[][] {
  const found: string[][] = [];
  let last: string[] = [];
  let length = 0;
  for (const key of keys) {
    if (last.length >= most || (last.length > 0 && length + key.length + 1 > characters)) {
      found.push(last);
      last = [];
      length = 0;
    }
    last.push(key);
    length += key.length + 1;
  }
  if (last.length > 0) found.push(last);
  return found;
}
