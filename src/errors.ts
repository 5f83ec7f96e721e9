/**
 * The registry of everything that can go wrong by the contract: code, kind and message.
 * Domain folders throw `Failure`; only `http` knows which status and body a kind becomes.
 */

/** What kind of refusal it is. `http` maps each kind to one status. */
export type FailureKind =
  | "bad_request"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "too_large"
  | "unsupported_encoding"
  | "precondition_failed"
  | "busy"
  | "outcome_unknown"
  | "execution";

/** Codes of the `{error, code, message, data}` body that failures beyond the client's are answered with. */
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
  "busy",
  "outcome_unknown",
  "internal",
] as const;
export type ExecutionCode = (typeof executionCodes)[number];

/** A refusal that the caller is told about. The message is one sentence and holds no secrets, SQL or paths. */
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

/** The request cannot be read as one: a number that is none, an address out of range, damaged encoding. */
export const badRequest = (message: string): Failure => new Failure("bad_request", undefined, message);

/** A token is required and none, an unknown or an expired one came. */
export const unauthenticated = (message = "This request needs a valid session token."): Failure =>
  new Failure("unauthenticated", undefined, message);

/** The caller is known (or public) and lacks the right. */
export const forbidden = (message = "Your rights do not allow this."): Failure =>
  new Failure("forbidden", undefined, message);

/** The entity that the path or body names does not exist. `what` is a noun phrase: `map "roads"`. */
export const notFound = (what: string): Failure =>
  new Failure("not_found", undefined, `There is no ${what}.`);

/** What the request was made for is no longer as the client knows it. */
export const preconditionFailed = (message: string): Failure =>
  new Failure("precondition_failed", undefined, message);

/** The input is larger than the installation allows. */
export const tooLarge = (message: string): Failure => new Failure("too_large", undefined, message);

/** The server has no room for this work now; `data.retryAfterSeconds` becomes `Retry-After`. */
export const busy = (message: string, retryAfterSeconds = 1): Failure =>
  new Failure("busy", "busy", message, { retryAfterSeconds });

/** Nobody knows whether the write was done: the database's connection was lost while it was committed. */
export const outcomeUnknown = (cause: unknown): Failure =>
  unknownOutcome(
    "It is not known whether this was done. Send it again with the same Idempotency-Key; without one, look first.",
    cause,
  );

/** The write was done, but what it came to could not be read afterwards. */
export const doneUnanswered = (cause: unknown): Failure =>
  unknownOutcome("This was done, but its answer could not be read. Do not send it again.", cause);

const unknownOutcome = (message: string, cause: unknown): Failure =>
  causedBy(new Failure("outcome_unknown", "outcome_unknown", message, { retryAfterSeconds: 1 }), cause);

/** Notes the error that a failure comes from, for the log. */
export function causedBy(failure: Failure, cause: unknown): Failure {
  failure.cause = cause;
  return failure;
}

/** The work was understood and failed by one of the contract's codes. */
export const failed = (
  code: Exclude<ExecutionCode, "busy" | "outcome_unknown">,
  message: string,
  data: Readonly<Record<string, unknown>> = {},
): Failure => new Failure("execution", code, message, data);

/** How much of a text that a client sent is told back to it. */
const longestTold = 100;

/** What a client sent, short enough to be told back. */
export const told = (text: string): string =>
  text.length <= longestTold ? text : `${text.slice(0, longestTold).replace(/[\ud800-\udbff]$/, "")}…`;

/**
 * Why names that a client sent cannot be used, as the `data` of an error, which stays small however many they are.
 * `columns` has the reasons by name, `more` says how many names are not among them.
 */
export class Reasons {
  // Without a prototype, so that anything may be a name.
  private readonly columns: Record<string, string> = Object.create(null);
  private count = 0;

  /** @param most names that are told */
  constructor(private readonly most = 20) {}

  static of(name: string, reason: string): Reasons {
    return new Reasons().add(name, reason);
  }

  /** Each name is to be added once. */
  add(name: string, reason: string): this {
    if (++this.count <= this.most) this.columns[told(name)] = reason;
    return this;
  }

  get empty(): boolean {
    return this.count === 0;
  }

  get data(): Readonly<Record<string, unknown>> {
    const more = this.count - this.most;
    return more > 0 ? { columns: this.columns, more } : { columns: this.columns };
  }
}

/** Parameters that the contract requires are missing. */
export const required = (names: readonly string[]): Failure =>
  failed("required_parameters", `Required: ${names.join(", ")}.`, { required: names });

/** Values of an object's columns that cannot be saved. */
export const refusedValues = (reasons: Reasons, data: Readonly<Record<string, unknown>> = {}): Failure =>
  failed("invalid_value", "Some values cannot be saved.", { ...reasons.data, ...data });
