/**
 * The registry of all errors of the contract: kind, code and message.
 * Domain folders throw `Failure`; only `http` knows the HTTP status and body of each kind.
 */

/** Kind of error. `http` maps each kind to one status. */
export type FailureKind =
  | "bad_request"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "too_large"
  | "unsupported_encoding"
  | "precondition_failed"
  | "conflict"
  | "too_many"
  | "busy"
  | "outcome_unknown"
  | "execution";

/** Codes in the body `{error, code, message, data}` of the kinds `execution`, `busy` and `outcome_unknown`. */
export const executionCodes = [
  "project_not_found",
  "required_parameters",
  "invalid_value",
  "invalid_style",
  "invalid_format",
  "invalid_geometry",
  "invalid_code",
  "code_exists",
  "filter_column_not_listed",
  "unknown_column",
  "type_required",
  "unknown_type",
  "not_materialized",
  "import_failed",
  "unsupported_format",
  "no_georeference",
  "file_column_required",
  "constraint_violated",
  "project_full",
  "busy",
  "outcome_unknown",
  "internal",
] as const;
export type ExecutionCode = (typeof executionCodes)[number];

/** An error that is sent to the client. The message is one sentence without secrets, SQL or paths. */
export class Failure extends Error {
  constructor(
    readonly kind: FailureKind,
    readonly code: ExecutionCode | undefined,
    message: string,
    readonly data: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = "Failure";
  }
}

/** The request is malformed: an invalid number, a tile address out of range, an invalid encoding. */
export const badRequest = (message: string): Failure => new Failure("bad_request", undefined, message);

/** A token is required and is missing, unknown or expired. */
export const unauthenticated = (message = "This request needs a valid session token."): Failure =>
  new Failure("unauthenticated", undefined, message);

/** The caller lacks the right. */
export const forbidden = (message = "Your rights do not allow this."): Failure =>
  new Failure("forbidden", undefined, message);

/** An entity named in the path or body does not exist. `what` is a noun phrase: `map "roads"`. */
export const notFound = (what: string): Failure =>
  new Failure("not_found", undefined, `There is no ${what}.`);

/** A precondition of the request does not hold: the object was changed since the client read it. */
export const preconditionFailed = (message: string): Failure =>
  new Failure("precondition_failed", undefined, message);

/** What others have made since stands in the way. */
export const conflict = (message: string, data: Readonly<Record<string, unknown>> = {}): Failure =>
  new Failure("conflict", undefined, message, data);

/** The input is larger than the installation allows. */
export const tooLarge = (message: string): Failure => new Failure("too_large", undefined, message);

/** The client sent more requests in a minute than it may; `data` becomes the headers `RateLimit…` and `Retry-After`. */
export const tooMany = (
  quota: { readonly work: string; readonly limit: number; readonly left: number; readonly seconds: number },
  retryAfterSeconds: number,
): Failure =>
  new Failure("too_many", undefined, `You may send ${quota.limit} requests of this kind in a minute.`, {
    retryAfterSeconds,
    quota,
  });

/** The server cannot take this work now; `data.retryAfterSeconds` becomes `Retry-After`. */
export const busy = (message: string, retryAfterSeconds = 1): Failure =>
  new Failure("busy", "busy", message, { retryAfterSeconds });

/** The connection to the database was lost during the commit, so it is unknown whether the write was done. */
export const outcomeUnknown = (cause: unknown): Failure =>
  unknownOutcome(
    "It is not known whether this was done. Send it again with the same Idempotency-Key; without one, look first.",
    cause,
  );

/** The write was committed, but its result could not be read afterwards. */
export const doneUnanswered = (cause: unknown): Failure =>
  unknownOutcome("This was done, but its answer could not be read. Do not send it again.", cause);

/** The write was committed, but a node that nobody can reach may go on answering with what was there before. */
export const doneUnheard = (cause: unknown): Failure =>
  unknownOutcome(
    "This was done, but a server that cannot be reached may still show what was there before. Do not send it again.",
    cause,
  );

const unknownOutcome = (message: string, cause: unknown): Failure =>
  causedBy(new Failure("outcome_unknown", "outcome_unknown", message, { retryAfterSeconds: 1 }), cause);

/** Sets the error's cause, for the log. */
export function causedBy(failure: Failure, cause: unknown): Failure {
  failure.cause = cause;
  return failure;
}

/** A valid request failed, with one of the contract's codes. */
export const failed = (
  code: Exclude<ExecutionCode, "busy" | "outcome_unknown">,
  message: string,
  data: Readonly<Record<string, unknown>> = {},
): Failure => new Failure("execution", code, message, data);

/** Of the system (no space, no quota), and disk_full of PostgreSQL. */
const fullDiskCodes: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "53100"]);

/** Whether the error, which has a `code`, means that a disk is full. */
export const isDiskFull = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && fullDiskCodes.has(error.code);

export const noRoomText = "There is no room on the server's disk for this now.";

const maxExcerptLength = 100;

/** The start of a text that a client sent, short enough for an error message. */
export const excerpt = (text: string): string =>
  text.length <= maxExcerptLength
    ? text
    : `${text.slice(0, maxExcerptLength).replace(/[\ud800-\udbff]$/, "")}…`;

/**
 * The `data` of an error about names that a client sent: `columns` has the reasons by name, `more` the number of names
 * that were left out to keep the answer small.
 */
export class Reasons {
  // Without a prototype, so that any text can be a key.
  private readonly columns: Record<string, string> = Object.create(null);
  private count = 0;

  /** @param max number of names in `columns` */
  constructor(private readonly max = 20) {}

  static of(name: string, reason: string): Reasons {
    return new Reasons().add(name, reason);
  }

  /** Must be called once for each name. */
  add(name: string, reason: string): this {
    if (++this.count <= this.max) this.columns[excerpt(name)] = reason;
    return this;
  }

  get empty(): boolean {
    return this.count === 0;
  }

  /** The name, if there is one only. */
  get only(): string | undefined {
    return this.count === 1 ? Object.keys(this.columns)[0] : undefined;
  }

  /** The names in quotation marks, as a part of a sentence. */
  get names(): string {
    const names = Object.keys(this.columns).map((name) => `"${name}"`);
    const more = this.count - names.length;
    return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
  }

  get data(): Readonly<Record<string, unknown>> {
    const more = this.count - this.max;
    return more > 0 ? { columns: this.columns, more } : { columns: this.columns };
  }
}

/** Parameters that the contract requires are missing. */
export const required = (names: readonly string[]): Failure =>
  failed("required_parameters", `Required: ${names.join(", ")}.`, { required: names });

/** Some values of an object cannot be saved. */
export const refusedValues = (reasons: Reasons, data: Readonly<Record<string, unknown>> = {}): Failure =>
  failed("invalid_value", "Some values cannot be saved.", { ...reasons.data, ...data });

/** The message of an error; of an AggregateError, the message of its first error. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (error instanceof Error) return error.message || (error as { code?: string }).code || error.name;
  return String(error);
}
