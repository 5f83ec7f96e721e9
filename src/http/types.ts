/** What a handler of the API sees of HTTP. Nothing here knows the server library. */

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/** Parameters of a query or form, each with the first value that came under its name. */
export interface Parameters {
  get(name: string): string | undefined;
  has(name: string): boolean;
  /** Names in the order in which they came. */
  names(): Iterable<string>;
}

/** A part of a multipart body that carries a file, held in a temporary file that is removed after the reply. */
export interface UploadedFile {
  /** Path of a temporary file with a name that we made. */
  readonly path: string;
  readonly bytes: number;
  /** As the client sent it: only its extension may be used. */
  readonly clientName: string;
}

/** The body, read at most once, each reader under its byte limit (413 beyond it). */
export interface Body {
  /** The whole body as bytes. @throws Failure too_large */
  bytes(limit?: number): Promise<Buffer>;
  /** Parsed JSON. @throws Failure bad_request when it does not parse, is deeper than 100 levels or has non-finite numbers */
  json(limit?: number): Promise<unknown>;
  /**
   * Names and values of a urlencoded, multipart or JSON-object body (by Content-Type), JSON values as they are.
   * An empty body gives an empty object without prototype.
   */
  fields(limit?: number): Promise<Record<string, unknown>>;
  /** The raw body in a temporary file that is removed after the reply. */
  toFile(limit?: number): Promise<UploadedFile>;
  /** The first file of a multipart body under `name`, and the other fields. */
  upload(
    name: string,
    limit?: number,
  ): Promise<{ file: UploadedFile | undefined; fields: Record<string, unknown> }>;
}

/** One request. Strings become typed values in the handler, once. */
export interface Request {
  /** Also in the log and in the answer header X-Request-Id. */
  readonly id: string;
  readonly method: Method;
  /** Path as it came, without the query. */
  readonly path: string;
  /** Decoded variable segments of the route. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Parameters;
  /** The query as it came, without the question mark; "" when there is none. */
  readonly rawQuery: string;
  /** Value of a header by its lower-case name. */
  header(name: string): string | undefined;
  readonly body: Body;
  /** The client's address; behind a trusted proxy the one that it names. */
  readonly remoteAddress: string;
  /** Public origin and prefix for generated links, without a slash at its end. */
  readonly baseUrl: string;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
}

/** What a handler answers. Header names are lower case; CORS headers and the request id are added by `http`. */
export type Reply =
  | { readonly kind: "json"; readonly value: unknown; readonly headers?: Headers }
  /** JSON text that is ready (made by PostgreSQL). */
  | { readonly kind: "json_text"; readonly text: string; readonly headers?: Headers }
  | {
      readonly kind: "bytes";
      readonly status?: number;
      readonly body: Uint8Array | string;
      readonly headers: Headers;
    }
  /** Sent with backpressure; when the client leaves, the iterator's `return` is called. */
  | {
      readonly kind: "stream";
      readonly chunks: AsyncIterable<Uint8Array | string>;
      readonly headers: Headers;
    };
export type Headers = Readonly<Record<string, string>>;

export const json = (value: unknown): Reply => ({ kind: "json", value });

export type Handler<Services> = (request: Request, services: Services) => Promise<Reply> | Reply;

/** One line of the route table. In `path`, `:name` is one decoded segment; the slash at the end is optional. */
export interface Route<Services> {
  readonly methods: readonly Method[];
  readonly path: string;
  readonly handler: Handler<Services>;
}
