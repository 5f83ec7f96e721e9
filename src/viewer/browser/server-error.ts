/** What the server, or its silence, says went wrong. Does not depend on the DOM. */

/** An error response; status 0 = no response. */
export class ServerError extends Error {
  constructor(
    readonly status: number,
    readonly code: string | undefined,
    /** When the server would look at it again. */
    readonly retryAfterSeconds?: number,
    /** In the server's words, in English; "" = it said nothing. */
    readonly told = "",
    readonly data: Readonly<Record<string, unknown>> = {},
  ) {
    super(`${status} ${code ?? ""}`.trim());
    this.name = "ServerError";
  }
}

/** Whether it is one. Parts of the page that are loaded later have the class once more, so that `instanceof` does not tell. */
export const isServerError = (error: unknown): error is ServerError =>
  error instanceof Error && error.name === "ServerError";

interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  /** Of RFC 9457. */
  readonly detail?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** What an answer that is none says. @param text its body */
export function failureOf(status: number, text: string, retryAfter: string | null): ServerError {
  let body: ErrorBody = {};
  try {
    body = (JSON.parse(text) ?? {}) as ErrorBody;
  } catch {
    // A page, which tells people what the status tells.
  }
  const seconds = Number(retryAfter ?? Number.NaN);
  const wait = Number.isFinite(seconds) ? seconds : undefined;
  return new ServerError(status, body.code, wait, body.message ?? body.detail, body.data);
}
