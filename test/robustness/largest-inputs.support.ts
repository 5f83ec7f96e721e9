import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { parentPort } from "node:worker_threads";

/** The thread of `largest-inputs.test.ts` that asks, so that what it does itself holds the loop of nobody else. */

export interface Asked {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Path of a file with the body. */
  readonly body: string | undefined;
  /** Field of a form that the body is sent as. */
  readonly field?: string | undefined;
  /** How many ask the same at once. */
  readonly clients: number;
  /** So long after its beginning nobody waits for the rest of the answer, which may have no end. */
  readonly mostMs: number;
}

export interface Told {
  readonly status: number;
  readonly bytes: number;
  readonly start: string;
}

/** Until an answer begins. A busy machine makes those who ask wait for one another. */
const mostBeforeMs = 120_000;

/** The asking thread's own work is done by then, and its message received. */
const calmMs = 60;

async function ask(asked: Asked, body: Blob | FormData | undefined): Promise<Told> {
  const controller = new AbortController();
  const { signal } = controller;
  const leave = () => controller.abort();
  let leaving = setTimeout(leave, mostBeforeMs);
  const told = { status: 0, bytes: 0, start: "" };
  try {
    const { url, method, headers } = asked;
    const answer = await fetch(url, { method, headers, signal, ...(body && { body }) });
    told.status = answer.status;
    clearTimeout(leaving);
    leaving = setTimeout(leave, asked.mostMs);
    for await (const chunk of answer.body ?? []) {
      if (told.start === "") told.start = Buffer.from(chunk).toString("latin1", 0, 300);
      told.bytes += chunk.length;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearTimeout(leaving);
  }
  return told;
}

async function bodyOf({ body, field, headers }: Asked): Promise<Blob | FormData | undefined> {
  if (body === undefined) return undefined;
  const content = await readFile(body);
  if (field === undefined) return new Blob([content], { type: headers["content-type"] ?? "" });
  const form = new FormData();
  form.set("field", "f");
  form.set(field, new File([content], body.slice(body.lastIndexOf("/") + 1)));
  return form;
}

parentPort?.on("message", async (asked: Asked) => {
  const body = await bodyOf(asked);
  await pause(calmMs);
  const answers = await Promise.all(Array.from({ length: asked.clients }, () => ask(asked, body)));
  parentPort?.postMessage(answers);
});
