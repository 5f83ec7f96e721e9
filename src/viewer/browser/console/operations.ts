import { path, type Query, withQuery } from "../paths.js";
import { failureOf, ServerError } from "../server-error.js";

/**
 * Operations of the API, each asked for once: a session that has ended is begun anew, and the operation goes on. Does not depend on
 * the DOM.
 */

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

/** How requests are sent. */
export interface Web {
  fetch(address: string, init: RequestInit): Promise<Response>;
  /** What all of them say. */
  headers(): Readonly<Record<string, string>>;
}
interface Session {
  readonly login: string;
  readonly token: string;
}

/** An answer. @throws ServerError when it is of something between, such as a page to sign in to a network */
export function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ServerError(502, undefined);
  }
}

export class Operations {
  private signingIn: Promise<boolean> | undefined;

  constructor(
    private readonly sessions: { of(project: string): Session | undefined },
    /** Asks to sign in, in place; false = the user does not want to. */
    private readonly signIn: (project: string) => Promise<boolean>,
    private readonly web: Web,
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
      const reply = await this.web
        .fetch(address, {
          credentials: "omit",
          referrerPolicy: "no-referrer",
          ...init,
        })
        .catch(() => {
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

  protected headers(project: string): Readonly<Record<string, string>> {
    const token = this.sessions.of(project)?.token;
    return {
      accept: "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...this.web.headers(),
    };
  }
}
