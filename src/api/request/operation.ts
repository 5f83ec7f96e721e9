import type { LimitedWork } from "../../access/client-limits.js";
import type { ExecutionCode } from "../../errors.js";
import { withHeaders } from "../../http/headers.js";
import type { BodyLimits, Handler, Method, Reply, Request, Route } from "../../http/types.js";
import { IgnoredMembers, type Known } from "../../ignored-members.js";
import { networkOf } from "../../queues/clients.js";
import type { Pause } from "../../queues/slices.js";
import type { Services } from "../services.js";
import { asUsed } from "./caller.js";
import { whenCdnIsTold } from "./cdn-wait.js";
import { commonParameters } from "./common-parameters.js";
import { requestUse } from "./database-use.js";
import { answerOnce, givenKey, idempotencyParameters } from "./idempotency.js";
import { matchHeadersOf } from "./if-match.js";
import { withinLimits } from "./limits.js";
import { inOneTransaction } from "./one-transaction.js";
import { projectPath } from "./paths.js";
import {
  asText,
  keptByCdn,
  keptByNobody,
  markedUnproven,
  refusedUnproven,
  taggedByBytes,
} from "./public-answers.js";
import { type Changed, conditionOf, isResource, type Resource, tagging } from "./resource.js";
import { retryIfStale } from "./retry.js";
import type { BodyDefinition } from "./schema/bodies.js";
import { reader } from "./schema/read.js";
import { aliasesOf, type JsonSchema, type Members, type Values } from "./schema/schema.js";
import { sizes } from "./schema/sizes.js";

/**
 * Operations of the API: routes with schemas of their parameters, bodies, responses and errors. The same definitions
 * validate requests and generate `/openapi.json`, so that the two cannot differ.
 */

/** Tags of the OpenAPI document, in its order. */
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

/** `open`: no token needed if the public has the rights; `token`: a session token is always required. */
export type Access = "open" | "token";

export interface Answer {
  readonly description: string;
  /** Schemas by media type; none = a response without a body. */
  readonly content: Readonly<Record<string, JsonSchema>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Description {
  /** Unique `operationId`; with several methods, each is appended to it. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly details?: string;
  /** Default: open. */
  readonly access?: Access;
  /** Whether a key for the tiles of the map counts where no token is. */
  readonly takesTileKey?: boolean;
  readonly answer: Answer;
  /** The 202 response, of an operation that can go on after it. */
  readonly accepted?: Answer;
  /** The 503 response; default: the server is overloaded. */
  readonly unavailable?: Answer;
  /**
   * Errors of this operation: statuses, and codes of the 500 body. Those common to all operations of its kind are added
   * by `openapi.ts`.
   */
  readonly refuses?: readonly (401 | 403 | 404 | 409 | 412 | ExecutionCode)[];
}

/** Input of a request. Each part is parsed when the handler calls for it, so that rights can be checked first. */
export interface Input<Query, Body, Headers = unknown> {
  query(): Values<Query>;
  body(): Promise<Body>;
  headers(): Values<Headers>;
  /** What is not known of the query and the body; members of bodies that are read elsewhere are added to them. */
  readonly ignored: IgnoredMembers;
}

/** Type of the parsed body. */
export type BodyOf<Definition> = Definition extends BodyDefinition<infer Out> ? Out : never;

interface Definition<Query, Body, Headers> extends Description {
  readonly methods: readonly Method[];
  /** Path pattern: `/api/2.8/:project/:map/`. */
  readonly path: string;
  /** Whether it changes data of a project. Its requests may have an Idempotency-Key. */
  readonly writes?: boolean;
  /** Whether what it writes takes up to minutes: it then waits for its turn among others like it. */
  readonly long?: boolean;
  /** What its answer shows: it has its ETag. */
  readonly shows?: Resource;
  /** What it changes: its requests may have an If-Match. Each operation of another method than GET says so. */
  readonly changes?: Changed;
  /** What its requests count as among the limits of a client; default: by `writes` and the tag. */
  readonly counts?: LimitedWork;
  /** Whether its answers are made of the map of the path, its layers and their objects alone. */
  readonly isKeptByCdn?: boolean;
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

/** A route with its description. */
export interface Operation extends Route<Services> {
  /** The handler by itself, without limits, retries and keys. */
  readonly bare: Handler<Services>;
  /** The handler for an older API version; `adapt` wraps the current handler to convert requests and responses. */
  readonly adapted: (adapt: (current: Handler<Services>) => Handler<Services>) => Handler<Services>;
  readonly writes: boolean;
  readonly shows: Resource | undefined;
  readonly changes: Changed | undefined;
  /** Which of a client's limits its requests count for; undefined = none. */
  readonly counts: LimitedWork | undefined;
  readonly takes: BodyLimits;
  readonly description: Description;
  readonly query: Members;
  readonly headers: Members;
  readonly body: BodyDefinition<unknown> | undefined;
}

const none: Members = {};

const ignoredHeader = "x-ignored";

const readForm = reader({ f: commonParameters.f });

/** Whether a path is below `/api/2.8/:project`. Such operations accept `f` and `lng`. */
export const isVersioned = (path: string): boolean => path.startsWith(projectPath);

/** Builds the route of a definition. */
export function operation<Query extends Members, Body = undefined, Headers extends Members = Members>(
  definition: Definition<Query, Body, Headers>,
): Operation {
  const {
    methods,
    path,
    handle,
    query,
    headers,
    body,
    writes = false,
    long = false,
    shows,
    changes,
    counts = countsOf(definition.tag, definition.writes),
    isKeptByCdn = false,
    ...given
  } = definition;
  const changed = isResource(changes) ? changes : undefined;
  const description = conditional(given, { shows, changed });
  const readQuery = reader((query ?? none) as Query);
  const readHeaders = reader((headers ?? none) as Headers);
  const hasCommonForm = isVersioned(path) && !Object.hasOwn(query ?? none, "f");
  // Addresses of tiles are made by programs, and answered by the thousand.
  const names = definition.tag === "Tiles" ? undefined : namesInQuery(definition);
  const current: Handler<Services> = (request, services) => {
    if (hasCommonForm) readForm(request.query);
    const ignored = new IgnoredMembers();
    const looksAtQuery = names !== undefined && request.rawQuery !== "";
    if (looksAtQuery) ignored.lookAtNames(request.query.names(), names);
    const input: Input<Query, Body, Headers> = {
      query: () => readQuery(request.query),
      body: async () => {
        const pause = services.slices.begin(networkOf(request.remoteAddress));
        const read = await (body as BodyDefinition<Body>).read(request, pause, ignored);
        if (body?.known && request.body.isJson)
          await lookForIgnored(await request.body.json(), body.known, { ignored, pause });
        return read;
      },
      headers: () => readHeaders({ get: (name) => request.header(name) }),
      ignored,
    };
    const reply = handle(request, services, input);
    return body === undefined && !looksAtQuery ? reply : then(reply, (made) => naming(made, ignored));
  };
  // Answers about sessions are kept by nobody, and tags of objects are those of their rows.
  const isShared =
    isVersioned(path) &&
    definition.tag !== "Sessions" &&
    definition.tag !== "Objects" &&
    definition.access !== "token";
  const shared = (request: Request, services: Services, make: () => Promise<Reply> | Reply) => {
    if (!isShared) return make();
    if (isKeptByCdn && services.cdnHeaders.isPurged) return keptByCdn(request, services, make);
    return then(make(), (made) => taggedByBytes(request, made));
  };
  /**
   * JSON of many clients, each of a megabyte, is not written in one turn. What says for how long it may be kept is, as that is
   * true now.
   */
  const written =
    (make: () => Promise<Reply> | Reply, client: string, { slices }: Services) =>
    () =>
      then(make(), (reply) =>
        reply.kind !== "json" || reply.headers?.["cache-control"] !== undefined
          ? asText(reply)
          : slices.whole(client, () => asText(reply)),
      );
  /** What shows statistics of earlier objects is kept by nobody, whatever the handler says. */
  const read = (handler: Handler<Services>, request: Request, services: Services) => {
    let isCurrent = true;
    const visuals = services.visuals.noting(() => {
      isCurrent = false;
    });
    const noting = { ...services, visuals };
    const unprovenSince = services.versions.watchProof();
    const answer = then(
      shared(
        request,
        services,
        written(() => handler(request, noting), networkOf(request.remoteAddress), services),
      ),
      (reply) => markedUnproven(isCurrent ? reply : keptByNobody(reply), unprovenSince()),
    );
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((error: unknown) => {
      throw refusedUnproven(error, unprovenSince());
    });
  };
  // Wraps the adapted handler, so that responses of older versions are stored for retries as they were sent.
  const unlimited =
    (untagged: Handler<Services>): Handler<Services> =>
    (request, given) => {
      const services = asUsed(request, given);
      const handler = shows ? tagging(shows, untagged) : untagged;
      const key = writes ? givenKey(request) : undefined;
      const db = services.db.for(
        requestUse(request, services, { writes, long, quick: definition.tag === "Sessions" }),
      );
      return whenCdnIsTold(request, { ...services, db }, (noting) =>
        retryIfStale(request, noting, (watched) => {
          const when = changed && conditionOf(changed, request, watched);
          if (key !== undefined)
            return answerOnce(request, watched, { key, body, when }, (transactional) =>
              handler(request, transactional),
            );
          if (!when) return read(handler, request, watched);
          return inOneTransaction(watched, { begin: when, always: true }, (transactional) =>
            handler(request, transactional),
          );
        }),
      );
    };
  const guarded = (handler: Handler<Services>): Handler<Services> => {
    const answered = unlimited(handler);
    if (counts === undefined) return answered;
    return (request, services) =>
      services.limits.applies(counts)
        ? withinLimits(counts, request, services, () => answered(request, services), description.takesTileKey)
        : answered(request, services);
  };
  return {
    methods,
    path,
    counts,
    takes: limitsOf(body?.limits ?? sizes.small, description.access),
    handler: guarded(current),
    bare: current,
    adapted: (adapt) => guarded(adapt(current)),
    writes,
    shows,
    changes,
    description,
    query: query ?? none,
    headers: {
      ...headers,
      ...(changed && matchHeadersOf(changed.name)),
      ...(writes ? idempotencyParameters : none),
    },
    body,
  };
}

/** The description with what ETags and If-Match add. */
function conditional(
  given: Description,
  { shows, changed }: { readonly shows: Resource | undefined; readonly changed: Resource | undefined },
): Description {
  const { answer, refuses = [] } = given;
  const etag = shows && {
    ETag: `Changes with what is shown of the ${shows.name}. Requests that change the ${shows.name} take it as If-Match.`,
  };
  return {
    ...given,
    ...(etag && { answer: { ...answer, headers: { ...answer.headers, ...etag } } }),
    ...(changed && { refuses: [...refuses, 412] }),
  };
}

const then = (
  reply: Promise<Reply> | Reply,
  change: (made: Reply) => Promise<Reply> | Reply,
): Promise<Reply> | Reply => (reply instanceof Promise ? reply.then(change) : change(reply));

interface Looking {
  readonly ignored: IgnoredMembers;
  readonly pause: Pause;
}

async function lookForIgnored(value: unknown, known: Known, { ignored, pause }: Looking): Promise<void> {
  if (!Array.isArray(value)) return ignored.look(value, known);
  for (const item of value) {
    ignored.look(item, known.items);
    await pause();
  }
}

/** Names that count in the query of an operation. */
function namesInQuery({
  path,
  query = none,
  body,
  takesTileKey,
}: Pick<
  Definition<Members, unknown, Members>,
  "path" | "query" | "body" | "takesTileKey"
>): ReadonlySet<string> {
  const members = { ...(isVersioned(path) && commonParameters), ...body?.inQuery, ...query };
  return new Set([...Object.keys(members), ...aliasesOf(members), "token", ...(takesTileKey ? ["key"] : [])]);
}

/** The reply with what was ignored. */
function naming(reply: Reply, { header }: IgnoredMembers): Reply {
  return header === undefined ? reply : withHeaders(reply, { [ignoredHeader]: header });
}

/** Logins have limits of their own; what tells of the server has none. */
function countsOf(tag: Tag, writes = false): LimitedWork | undefined {
  if (tag === "Sessions" || tag === "Server") return undefined;
  if (tag === "Import and export") return "transfers";
  if (tag === "Tiles") return "tiles";
  return writes ? "writes" : "reads";
}

/** If a token is required, only a small body is read to find one. */
const limitsOf = (limits: BodyLimits, access: Access | undefined): BodyLimits =>
  access === "token" ? { ...limits, earlyBytes: sizes.small.bytes } : limits;

/** A JSON response with a schema. */
export const answers = (description: string, schema: JsonSchema): Answer => ({
  description,
  content: { "application/json": schema },
});
