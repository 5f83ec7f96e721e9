import { attention } from "../attention.js";
import { failureOf, ServerError } from "../map-server.js";
import { path, type Query, withQuery } from "../paths.js";
import type { Sessions } from "../sessions.js";

/** What the console writes, by operations of the API. A session that has ended is begun anew, and the operation goes on. */

export interface EditOptions {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly form?: FormData;
  /** Makes sure that an operation that is sent twice is done once. */
  readonly key?: string;
  /** The ETag of what it is meant for; of another state the server changes nothing (412). */
  readonly match?: string | undefined;
  /** Whether it is about the installation, and not about the project whose session is used. */
  readonly isInstallation?: boolean;
  /** Whether it is not worth asking to sign in. */
  readonly isQuiet?: boolean;
}

/** What was read, and of which state it is. */
export interface Read<Value> {
  readonly value: Value;
  readonly etag: string | undefined;
}

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
}

/** An answer. @throws ServerError when it is of something between, such as a page to sign in to a network */
function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ServerError(502, undefined);
  }
}

/** The name that a header has, as this server writes it (RFC 6266). */
function fileNameOf(disposition: string | null): string {
  const encoded = /filename\*=UTF-8''([^;]+)/.exec(disposition ?? "")?.[1];
  return encoded
    ? decodeURIComponent(encoded)
    : (/filename="([^"]*)"/.exec(disposition ?? "")?.[1] ?? "file");
}

export class Edits {
  private signingIn: Promise<boolean> | undefined;

  constructor(
    private readonly sessions: Sessions,
    /** Asks to sign in, in place; false = the user does not want to. */
    private readonly signIn: (project: string) => Promise<boolean>,
  ) {}

  /** @throws ServerError */
  async send<T>(
    project: string,
    method: string,
    segments: readonly string[],
    options: EditOptions = {},
  ): Promise<T> {
    return (await this.ask<T>(project, method, segments, options)).value;
  }

  /** Reads what will be changed. @throws ServerError */
  read<T>(
    project: string,
    segments: readonly string[],
    options: Pick<EditOptions, "query" | "isQuiet"> = {},
  ): Promise<Read<T>> {
    return this.ask(project, "GET", segments, options);
  }

  /** The answer with its ETag. @throws ServerError */
  ask<T>(
    project: string,
    method: string,
    segments: readonly string[],
    { query = {}, body, form, key, match, isInstallation = false, isQuiet = false }: EditOptions = {},
  ): Promise<Read<T>> {
    const address = withQuery(
      isInstallation ? path("installation", ...segments) : `api/2.8/${path(project, ...segments)}`,
      query,
    );
    const work = async () => {
      const init = {
        method,
        headers: {
          ...this.headers(project),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(key !== undefined && { "idempotency-key": key }),
          ...(match !== undefined && { "if-match": match }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(form !== undefined && { body: form }),
      };
      const reply = await fetch(address, {
        credentials: "omit",
        referrerPolicy: "no-referrer",
        ...init,
      }).catch(() => {
        throw new ServerError(0, undefined);
      });
      const text = await reply.text().catch(() => {
        throw new ServerError(0, undefined);
      });
      if (!reply.ok) throw failureOf(reply.status, text, reply.headers.get("retry-after"));
      return { value: parsed<T>(text), etag: reply.headers.get("etag") ?? undefined };
    };
    return isQuiet ? work() : this.inSession(project, work);
  }

  /**
   * Sends files that a layer shall have, and nothing else.
   * @param progress is told the sent part, from 0 to 1
   * @throws ServerError, the signal's reason
   */
  upload<T>(
    project: string,
    segments: readonly string[],
    files: readonly File[],
    {
      query,
      progress,
      signal,
      key,
    }: {
      readonly query: Query;
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

  /** Who works in a project; undefined = nobody is signed in. */
  loginOf(project: string): string | undefined {
    return this.sessions.of(project)?.login;
  }

  /** Does something for which a session is needed. After it has ended, the user signs in, and it is done again. */
  async inSession<T>(project: string, work: () => Promise<T>): Promise<T> {
    for (;;) {
      const token = this.sessions.of(project)?.token;
      if (token !== undefined) {
        try {
          return await work();
        } catch (error) {
          if (!(error instanceof ServerError) || error.status !== 401) throw error;
          // Another part of the page may have opened a new one meanwhile.
          if (this.sessions.of(project)?.token !== token) continue;
        }
      }
      this.signingIn ??= this.signIn(project).finally(() => {
        this.signingIn = undefined;
      });
      if (!(await this.signingIn)) throw new ServerError(401, undefined);
    }
  }

  private headers(project: string): Readonly<Record<string, string>> {
    const token = this.sessions.of(project)?.token;
    return {
      accept: "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...attention(),
    };
  }
}
