import type { ExecutionCode } from "../../errors.js";
import type { BodyLimits, Handler, Method, Reply, Request, Route } from "../../http/types.js";
import type { Services } from "../services.js";
import { commonParameters } from "./common-parameters.js";
import { answerOnce, givenKey, idempotencyParameters } from "./idempotency.js";
import { projectPath } from "./paths.js";
import { answerOvertaken } from "./retry.js";
import type { BodyDefinition } from "./schema/bodies.js";
import { reader } from "./schema/read.js";
import type { JsonSchema, Members, Values } from "./schema/schema.js";
import { sizes } from "./schema/sizes.js";

/**
 * Operations of the API: routes that say what they take, answer and refuse. The same definitions read the requests and
 * make the description at `/openapi.json`, so that the two cannot differ.
 */

/** Groups of the description, in its order. */
export const tags = [
  "Sessions",
  "Maps",
  "Folders",
  "Layers",
  "Structure",
  "Objects",
  "Files",
  "Import and export",
  "Search",
  "Tiles",
  "Server",
] as const;
export type Tag = (typeof tags)[number];

/** Who may ask: anybody whom the map's rights let, or only with a session token. */
export type Access = "open" | "token";

export interface Answer {
  readonly description: string;
  /** Schemas by media type; none = an answer without a body. */
  readonly content: Readonly<Record<string, JsonSchema>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Description {
  /** Unique name; with several methods each of them adds its own. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly details?: string;
  /** Default: open. */
  readonly access?: Access;
  readonly answer: Answer;
  /** What 503 means here; default: that there is no room. */
  readonly unavailable?: Answer;
  /**
   * How it may fail beyond what every request of its kind may: statuses, and codes of the 500 body. Without a path
   * below a project, 400 is all that every request may be refused with.
   */
  readonly refuses?: readonly (401 | 403 | 404 | 412 | ExecutionCode)[];
}

/** What a request holds. Read when the handler asks, so that rights can come before. */
export interface Input<Query, Body, Headers = unknown> {
  query(): Values<Query>;
  body(): Promise<Body>;
  headers(): Values<Headers>;
}

/** What a body's definition reads. */
export type BodyOf<Definition> = Definition extends BodyDefinition<infer Out> ? Out : never;

interface Definition<Query, Body, Headers> extends Description {
  readonly methods: readonly Method[];
  /** As in the route table: `/api/2.8/:project/:map/`. */
  readonly path: string;
  /** Whether it changes what a project has. Its clients may name requests by an Idempotency-Key. */
  readonly writes?: boolean;
  readonly query?: Query;
  /** Header names in lower case. */
  readonly headers?: Headers;
  readonly body?: BodyDefinition<Body>;
  readonly handle: (
    request: Request,
    services: Services,
    input: Input<Query, Body, Headers>,
  ) => Promise<Reply> | Reply;
}

/** A route that is described. */
export interface Operation extends Route<Services> {
  /** The handler of a version of the API that asks or answers otherwise; `adapt` is given what this version does. */
  readonly adapted: (adapt: (current: Handler<Services>) => Handler<Services>) => Handler<Services>;
  readonly writes: boolean;
  readonly takes: BodyLimits;
  readonly description: Description;
  readonly query: Members;
  readonly headers: Members;
  readonly body: BodyDefinition<unknown> | undefined;
}

const none: Members = {};

const readForm = reader({ f: commonParameters.f });

/** Whether a path is that of an operation of the contract, all of which may be asked for a form and a language. */
export const isVersioned = (path: string): boolean => path.startsWith(projectPath);

/** Makes the route of a definition. */
export function operation<Query extends Members, Body = undefined, Headers extends Members = Members>(
  definition: Definition<Query, Body, Headers>,
): Operation {
  const { methods, path, handle, query, headers, body, writes = false, ...description } = definition;
  const readQuery = reader((query ?? none) as Query);
  const readHeaders = reader((headers ?? none) as Headers);
  const hasCommonForm = isVersioned(path) && !Object.hasOwn(query ?? none, "f");
  const current: Handler<Services> = (request, services) => {
    if (hasCommonForm) readForm(request.query);
    const input: Input<Query, Body, Headers> = {
      query: () => readQuery(request.query),
      body: () => (body as BodyDefinition<Body>).read(request),
      headers: () => readHeaders({ get: (name) => request.header(name) }),
    };
    return handle(request, services, input);
  };
  // Whatever a version adds to an answer belongs to it, when it is kept and when it is made anew.
  const guarded =
    (handler: Handler<Services>): Handler<Services> =>
    (request, services) => {
      const key = writes ? givenKey(request) : undefined;
      return answerOvertaken(request, services, (watched) => {
        if (key === undefined) return handler(request, watched);
        return answerOnce(request, watched, { key, body }, (within) => handler(request, within));
      });
    };
  return {
    methods,
    path,
    takes: takenBy(body?.limits ?? sizes.small, description.access),
    handler: guarded(current),
    adapted: (adapt) => guarded(adapt(current)),
    writes,
    description,
    query: query ?? none,
    headers: { ...headers, ...(writes ? idempotencyParameters : none) },
    body,
  };
}

/** Where a token is needed, no more is read in search of one than strangers may send anywhere. */
const takenBy = (limits: BodyLimits, access: Access | undefined): BodyLimits =>
  access === "token" ? { ...limits, earlyBytes: sizes.small.bytes } : limits;

/** An answer of JSON by a schema. */
export const answers = (description: string, schema: JsonSchema): Answer => ({
  description,
  content: { "application/json": schema },
});
