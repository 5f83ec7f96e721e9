import { attention } from "../attention.js";
import { failureOf, ServerError } from "../map-server.js";
import { path, type Query, withQuery } from "../paths.js";
import type { Sessions } from "../sessions.js";
import { Operations, parsed } from "./operations.js";

/** What the console writes, by operations of the API, and the files that it sends. */

/** An import that goes on at the server. */
export interface ImportJob {
  readonly id: string;
  readonly state: "running" | "done" | "failed" | "cancelled";
  readonly phase: "waiting" | "reading" | "checking" | "writing";
  readonly features: number;
  readonly result: { readonly import?: ImportResult } | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly data?: Readonly<Record<string, unknown>>;
  } | null;
  /** Imports of other tables that the files were sent for, and the codes of their layers. */
  readonly others?: readonly { readonly id: string; readonly layer: string }[];
}
export interface BadRow {
  readonly row?: number;
  readonly message?: string;
  readonly [more: string]: unknown;
}
export interface ImportResult {
  readonly features: number;
  readonly added: number;
  /** How many were left out. */
  readonly bad: number;
  /** The first of those. */
  readonly rows: readonly BadRow[];
  /** That the layer did not have before. */
  readonly columns?: readonly { readonly code: string }[];
  /** Codes of those that the file has values for. */
  readonly written?: readonly string[];
}

/** The name that a header has, as this server writes it (RFC 6266). */
function fileNameOf(disposition: string | null): string {
  const encoded = /filename\*=UTF-8''([^;]+)/.exec(disposition ?? "")?.[1];
  return encoded
    ? decodeURIComponent(encoded)
    : (/filename="([^"]*)"/.exec(disposition ?? "")?.[1] ?? "file");
}

export class Edits extends Operations {
  /** @param signIn asks to sign in, in place; false = the user does not want to */
  constructor(sessions: Sessions, signIn: (project: string) => Promise<boolean>) {
    super(sessions, signIn, { fetch: (address, init) => fetch(address, init), headers: attention });
  }

  /**
   * Sends files that a layer shall have, and nothing else.
   * @param fields parameters that are too long for an address
   * @param progress is told the sent part, from 0 to 1
   * @throws ServerError, the signal's reason
   */
  upload<T>(
    project: string,
    segments: readonly string[],
    files: readonly File[],
    {
      query,
      fields = {},
      progress,
      signal,
      key,
    }: {
      readonly query: Query;
      readonly fields?: Readonly<Record<string, string>>;
      readonly progress: (part: number) => void;
      readonly signal: AbortSignal;
      readonly key: string;
    },
  ): Promise<T> {
    const address = withQuery(`api/2.8/${path(project, ...segments)}`, query);
    return this.inSession(
      project,
      () =>
        new Promise<T>((resolve, reject) => {
          signal.throwIfAborted();
          const form = new FormData();
          for (const [name, value] of Object.entries(fields)) form.append(name, value);
          for (const file of files) form.append("file", file, file.name);
          // `fetch` does not tell how much of a body is sent.
          const request = new XMLHttpRequest();
          const cancel = () => request.abort();
          signal.addEventListener("abort", cancel, { once: true });
          request.upload.addEventListener("progress", ({ loaded, total }) =>
            progress(total ? loaded / total : 0),
          );
          request.addEventListener("loadend", () => {
            signal.removeEventListener("abort", cancel);
            if (signal.aborted) reject(signal.reason);
            else if (request.status === 0) reject(new ServerError(0, undefined));
            else if (request.status >= 300)
              reject(
                failureOf(request.status, request.responseText, request.getResponseHeader("retry-after")),
              );
            else resolve(Promise.resolve(request.responseText).then(parsed<T>));
          });
          request.open("POST", address);
          const headers = { ...this.headers(project), "idempotency-key": key };
          for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
          request.send(form);
        }),
    );
  }

  /**
   * The file that an operation answers.
   * @param progress is told how many bytes have come
   * @throws ServerError, the signal's reason
   */
  file(
    project: string,
    segments: readonly string[],
    body: object,
    { signal, progress }: { readonly signal: AbortSignal; readonly progress: (bytes: number) => void },
  ): Promise<File> {
    const address = `api/2.8/${path(project, ...segments)}`;
    return this.inSession(project, async () => {
      const headers = { ...this.headers(project), "content-type": "application/json" };
      try {
        const reply = await fetch(address, {
          ...{ method: "POST", headers, body: JSON.stringify(body), signal },
          ...{ credentials: "omit", referrerPolicy: "no-referrer" },
        });
        if (!reply.ok) throw failureOf(reply.status, await reply.text(), reply.headers.get("retry-after"));
        const parts: Uint8Array<ArrayBuffer>[] = [];
        let bytes = 0;
        const reader = reply.body!.getReader();
        for (let next = await reader.read(); !next.done; next = await reader.read()) {
          parts.push(next.value);
          bytes += next.value.length;
          progress(bytes);
        }
        return new File(parts, fileNameOf(reply.headers.get("content-disposition")));
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof ServerError ? error : new ServerError(0, undefined);
      }
    });
  }
}
