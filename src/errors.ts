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
  | "execution";

/** Codes of the `{error, code, message, data}` body that an `execution` or `busy` failure is answered with. */
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

/** The work was understood and failed by one of the contract's codes. */
export const failed = (
  code: Exclude<ExecutionCode, "busy">,
  message: string,
  data: Readonly<Record<string, unknown>> = {},
): Failure => new Failure("execution", code, message, data);

/** Parameters that the contract requires are missing. */
export const required = (names: readonly string[]): Failure =>
  failed("required_parameters", `Required: ${names.join(", ")}.`, { required: names });

/**
 * Values of an object's columns that cannot be saved.
 * @param columns code → reason
 */
export const refusedValues = (
  columns: Readonly<Record<string, string>>,
  data: Readonly<Record<string, unknown>> = {},
): Failure => failed("invalid_value", "Some values cannot be saved.", { columns, ...data });
