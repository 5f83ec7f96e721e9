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
  /** Hash of what is in it; there when the request has an Idempotency-Key. */
  readonly sha256?: string | undefined;
}

/** How much of a body a route takes. What is beyond is refused, by the announced length or as soon as it has come. */
export interface BodyLimits {
  /** Bytes of all but a file that is kept; undefined = as many as the installation takes, which is the most anywhere. */
  readonly bytes: number | undefined;
  /** Those of them that are taken while it is not known who asks; undefined = all. */
  readonly earlyBytes?: number;
  /** Members of all JSON objects in it together. */
  readonly members: number;
  /** Values in its JSON: members of objects and items of arrays. */
  readonly values: number;
}

/** The limits of a route that says nothing of bodies. */
export const modest: BodyLimits = { bytes: 64 * 1024, members: 1_000, values: 10_000 };

/** The body, read at most once, under the limits of the route (413 beyond them; 400 for JSON with too much in it). */
export interface Body {
  readonly limits: Readonly<Required<BodyLimits>> & { readonly bytes: number };
  /** What has come of it so far. */
  readonly receivedBytes: number;
  /**
   * The whole body as bytes.
   * @param limit in place of the route's, for this and the other readers
   * @throws Failure too_large
   */
  bytes(limit?: number): Promise<Buffer>;
  /** Parsed JSON. @throws Failure bad_request when it does not parse, is deeper than 100 levels or has non-finite numbers */
  json(limit?: number): Promise<unknown>;
  /**
   * Names and values of a urlencoded, multipart or JSON-object body (by Content-Type), JSON values as they are. Files
   * are read past. An empty body gives an empty object without prototype.
   */
  fields(limit?: number): Promise<Record<string, unknown>>;
  /** The raw body in a temporary file that is removed after the reply. */
  toFile(): Promise<UploadedFile>;
  /**
   * The first file of a multipart body under `name`, and the fields. The other files, and one that is not admitted,
   * are read past and count as the rest of the body.
   * @param admit asked when the file begins, with the fields before it, whether it is kept; until it answers nothing
   *   more is read, and what it throws ends the reading
   */
  upload(name: string, admit: Admit): Promise<Form>;
}

export type Admit = (fields: Readonly<Record<string, unknown>>) => Promise<boolean> | boolean;

/** A form that was read. */
export interface Form {
  /** Without prototype; of repeated names the first counts. */
  readonly fields: Record<string, unknown>;
  readonly file: UploadedFile | undefined;
  /** Whether a file was not admitted. */
  readonly turnedAway: boolean;
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
  /** Default: `modest`. */
  readonly takes?: BodyLimits;
  readonly handler: Handler<Services>;
}
