/** HTTP types for handlers, independent of the server library. */

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/** Whether a method only reads: HEAD has the headers of GET (RFC 9110, 9.3.2). */
export const isReading = (method: string): boolean => method === "GET" || method === "HEAD";

/** Parameters of a query or form; the first of repeated names is used. */
export interface Parameters {
  get(name: string): string | undefined;
  has(name: string): boolean;
  /** Names in the order of the request. */
  names(): Iterable<string>;
}

/** An uploaded file, in a temporary file that is removed after the reply. */
export interface UploadedFile {
  /** Path of the temporary file, whose name does not depend on the client. */
  readonly path: string;
  readonly bytes: number;
  /** File name from the client: only its extension may be used. */
  readonly clientName: string;
  /** Hash of the content; only when the request has an Idempotency-Key. */
  readonly sha256?: string | undefined;
}

/** Limits of a route's body. Larger bodies are refused, by Content-Length or as soon as the limit is exceeded. */
export interface BodyLimits {
  /** Bytes without an uploaded file; undefined = the limit of the installation, which also caps this one. */
  readonly bytes: number | undefined;
  /** Bytes that are read before the caller is authenticated; undefined = all. */
  readonly earlyBytes?: number;
  /** Members of all JSON objects together. */
  readonly members: number;
  /** JSON values: members of objects and items of arrays. */
  readonly values: number;
  /** Files of one form field that are kept; a form with more is refused. Absent: the first is kept, others are skipped. */
  readonly files?: number;
  /** Bytes of the uploaded files; absent = the limit of the installation, which also caps this one. */
  readonly fileBytes?: number;
}

/** Default of `Route.takes`. */
export const defaultBodyLimits: BodyLimits = { bytes: 64 * 1024, members: 1_000, values: 10_000 };

/** The body, under the limits of the route (413 for too many bytes; 400 for too many members or values). */
export interface Body {
  readonly limits: BodyLimits & { readonly bytes: number; readonly earlyBytes: number };
  /** Bytes received so far. */
  readonly receivedBytes: number;
  /**
   * The whole body as bytes.
   * @param limit replaces the limit of the route; likewise in the other methods
   * @throws Failure too_large
   */
  bytes(limit?: number): Promise<Buffer>;
  /** Reads the whole body, without making one piece of it. @throws Failure too_large */
  length(limit?: number): Promise<number>;
  /**
   * Lends the parts of the body, as they came, to who moves their memory to another thread.
   * @param use gives them back with a value; if it rejects, they are lost, and the body cannot be read again
   * @throws Failure too_large; what `use` throws
   */
  lend<T>(use: (parts: readonly Uint8Array[]) => Promise<Lent<T>>): Promise<T>;
  /** Whether it was read as JSON. */
  readonly isJson: boolean;
  /** Parsed JSON. @throws Failure bad_request when it is not valid, deeper than 100 levels or has non-finite numbers */
  json(limit?: number): Promise<unknown>;
  /**
   * Names and values of a urlencoded, multipart or JSON body (by Content-Type); JSON values are not converted. Files are
   * skipped. The object has no prototype; it is empty when the body is empty or of another type.
   */
  fields(limit?: number): Promise<Record<string, unknown>>;
  /** The raw body in a temporary file that is removed after the reply. */
  toFile(): Promise<UploadedFile>;
  /**
   * The files named `name` of a multipart body, as many as `limits.files`, and the fields. Other files, and one that is not
   * admitted, are skipped and count towards the limit of the body.
   * @param admit called with the preceding fields when a file begins; decides whether it is stored. Reading pauses until
   *   it resolves, and stops when it throws
   */
  upload(name: string, admit: Admit): Promise<Form>;
}

export interface Lent<T> {
  readonly parts: readonly Uint8Array[];
  readonly value: T;
}

export type Admit = (fields: Readonly<Record<string, unknown>>) => Promise<boolean> | boolean;

export interface Form {
  /** Without prototype; the first of repeated names is used. */
  readonly fields: Record<string, unknown>;
  readonly files: readonly UploadedFile[];
  /** Whether a file was not admitted. */
  readonly fileRefused: boolean;
}

/** A request. Handlers parse its strings into typed values. */
export interface Request {
  /** Also in the log and in the response header X-Request-Id. */
  readonly id: string;
  readonly method: Method;
  /** Raw path without the query. */
  readonly path: string;
  /** Decoded variable segments of the route. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Parameters;
  /** Raw query without the question mark; "" when there is none. */
  readonly rawQuery: string;
  /** Value of a header by lower-case name. */
  header(name: string): string | undefined;
  readonly body: Body;
  /** IP address of the client; behind a trusted proxy, from X-Forwarded-For. */
  readonly remoteAddress: string;
  /** Public origin and prefix for generated links, without a trailing slash. */
  readonly baseUrl: string;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** The reply of a handler. Header names are lower case; `http` adds CORS headers and the request id. */
export type Reply =
  | { readonly kind: "json"; readonly value: unknown; readonly headers?: Headers }
  /** JSON text, usually from PostgreSQL. A long one in parts: UTF-8 with a character for each byte. */
  | {
      readonly kind: "json_text";
      readonly text: string | readonly string[];
      readonly headers?: Headers;
    }
  | {
      readonly kind: "bytes";
      readonly status?: number;
      readonly body: Uint8Array | string;
      readonly headers: Headers;
    }
  /** Sent with backpressure; when the client disconnects, the iterator's `return` is called. */
  | {
      readonly kind: "stream";
      readonly status?: number;
      /** Length of the body, where it is known: HEAD tells it. */
      readonly bytes?: number;
      readonly chunks: AsyncIterable<Uint8Array | string>;
      readonly headers: Headers;
    };
export type Headers = Readonly<Record<string, string>>;

export const json = (value: unknown): Reply => ({ kind: "json", value });

export type Handler<Services> = (request: Request, services: Services) => Promise<Reply> | Reply;

/** An entry of the route table. In `path`, `:name` is one decoded segment, `:name*` at the end all that are left; the trailing slash is optional. */
export interface Route<Services> {
  readonly methods: readonly Method[];
  readonly path: string;
  /** Default: `defaultBodyLimits`. */
  readonly takes?: BodyLimits;
  readonly handler: Handler<Services>;
}
