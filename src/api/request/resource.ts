import { createHash } from "node:crypto";
import { type Catalog, CatalogReader } from "../../catalog/catalog.js";
import type { MapState, ProjectState } from "../../catalog/state.js";
import { lockStructure } from "../../catalog/structure-transaction.js";
import { lockMap } from "../../catalog/tree.js";
import { notFound, preconditionFailed } from "../../errors.js";
import { withHeaders } from "../../http/headers.js";
import type { Handler, Reply, Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import type { Pause } from "../../queues/slices.js";
import type { Queryable } from "../../storage/postgres.js";
import type { Services } from "../services.js";
import { statesIn } from "./if-match.js";

/**
 * What operations show and change as a whole: its ETag, and changes that are meant for one state of it (If-Match). An ETag has
 * two parts, `"state-shown"`. The state is a digest of what can be changed, in all languages: equal on all nodes, and what
 * If-Match compares. The other part is a digest of this answer, which may also show what objects, rights and parameters make of it.
 */

/** The catalogue that a resource belongs to, at one moment. */
export interface Place {
  readonly project: ProjectState;
  /** The map of the path; undefined where it names none. */
  readonly map: MapState | undefined;
  readonly params: Request["params"];
}

/** What tells the state of an answer. */
export interface Shown {
  /** The value of a JSON answer that is no text yet. */
  readonly value: unknown;
  readonly query: Request["query"];
  readonly pause: Pause;
}

export interface Resource {
  /** As descriptions name it, after "the". */
  readonly name: string;
  /**
   * What its writers lock: the row of the project, that of the map, or the columns of the layer and then that of its map; or what
   * `states` locks.
   */
  readonly lockedBy: "project" | "map" | "columns" | "states";
  /** The state that an answer shows, as a digest; undefined = what was there is gone. */
  shown(place: Place, answer: Shown): string | undefined | Promise<string | undefined>;
  /** The states by which it goes now: answers may show more or less of it. None = it is not there. */
  states(place: Place, tx: Queryable): readonly string[] | Promise<readonly string[]>;
  /** For `*`: whether what the path names is there; default: as `states` says. */
  isThere?(place: Place): boolean;
}

/** What an operation changes: a resource; an object, by a handler that compares its version where it writes it; or why neither. */
export type Changed = Resource | "object" | { readonly unconditionally: string };

export const isResource = (changed: Changed | undefined): changed is Resource =>
  typeof changed === "object" && "states" in changed;

/** Hexadecimal digits of a state: no hyphens, by which the parts of an ETag are told apart. */
export const stateDigits = 20;

export const stateOf = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, stateDigits);

/** A resource with one state, made of the catalogue. `of` = undefined where it is not there. */
export const ofCatalogue = (
  definition: Pick<Resource, "name" | "lockedBy">,
  of: (place: Place, value?: unknown) => string | undefined,
): Resource => ({
  ...definition,
  shown: (place, { value }) => of(place, value),
  states: (place) => {
    const state = of(place);
    return state === undefined ? [] : [state];
  },
});

/** Remembers the latest project and map that the catalogue gave, of which an answer is made. */
class NotedCatalog implements Catalog {
  project_: ProjectState | undefined;
  map_: MapState | undefined;

  constructor(private readonly current: () => Catalog) {}

  private async note<Found extends ProjectState | MapState>(found: Promise<Found>): Promise<Found> {
    const state = await found;
    if ("project" in state) {
      this.map_ = state;
      this.project_ = state.project;
    } else this.project_ = state;
    return state;
  }

  project = (code: string) => this.note(this.current().project(code));
  map = (project: string, map: string) => this.note(this.current().map(project, map));
  ownMap = (project: string, map: string) => this.current().ownMap(project, map);
  projectNow = (code: string) => this.note(this.current().projectNow(code));
  mapNow = (project: string, map: string) => this.note(this.current().mapNow(project, map));
  isCurrent = (map: MapState) => this.current().isCurrent(map);
}

/** The handler with the ETag of what it answers, which is of the same snapshot as the answer. */
export const tagging =
  (resource: Resource, handler: Handler<Services>): Handler<Services> =>
  async (request, services) => {
    const noted = new NotedCatalog(() => services.catalog);
    // Not a copy: within a transaction members change, and who rehearses may not use all of them.
    const noting: Services = Object.create(services, { catalog: { value: noted } });
    const reply = await handler(request, noting);
    const { project_: project, map_: map } = noted;
    if (!project || !isTaggable(reply)) return reply;
    const pause = services.slices.begin(networkOf(request.remoteAddress));
    const value = reply.kind === "json" ? reply.value : undefined;
    const place = { project, map, params: request.params };
    const state = await resource.shown(place, { value, query: request.query, pause });
    if (state === undefined) return reply;
    const etag = `"${state}-${await digestOf(reply, pause)}"`;
    return withHeaders(reply, { etag });
  };

const isTaggable = (reply: Reply): boolean =>
  reply.kind === "json" ||
  (reply.kind === "json_text" && typeof reply.text === "string") ||
  (reply.kind === "bytes" && (reply.status ?? 200) === 200);

/** Characters that are hashed in one piece. */
const hashedAtOnce = 2 ** 20;

async function digestOf(reply: Reply, pause: Pause): Promise<string> {
  const known = /^"([^"]+)"$/.exec(reply.headers?.etag ?? "")?.[1];
  if (known !== undefined) return known;
  const text = textOf(reply);
  const hash = createHash("sha256");
  for (let at = 0; at < text.length; at += hashedAtOnce) {
    if (at > 0) await pause();
    hash.update(text.slice(at, at + hashedAtOnce));
  }
  return hash.digest("base64url").slice(0, stateDigits);
}

/** What a change tells of itself is not part of what it changed. */
function textOf(reply: Reply): string | Uint8Array {
  if (reply.kind === "bytes") return reply.body;
  if (reply.kind === "json_text") return reply.text as string;
  const { value } = reply as Extract<Reply, { kind: "json" }>;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return JSON.stringify(value) ?? "null";
  const { notices: _notices, import: _import, ...shown } = value as Record<string, unknown>;
  return JSON.stringify(shown);
}

/** The check of the request's If-Match, at the beginning of the transaction that writes; undefined = it has none. */
export function conditionOf(
  resource: Resource,
  request: Request,
  { config }: Pick<Services, "config">,
): ((tx: Queryable) => Promise<void>) | undefined {
  const header = request.header("if-match");
  if (header === undefined) return undefined;
  const wanted = statesIn(header);
  return async (tx) => {
    await lock(tx, resource, request.params);
    const place = await placeNow(tx, config.idAlias, request.params);
    const states = await resource.states(place, tx);
    if (wanted === undefined && !(resource.isThere?.(place) ?? states.length > 0))
      throw preconditionFailed("There is nothing to change.");
    if (wanted && !states.some((state) => wanted.includes(state)))
      throw preconditionFailed(`The ${resource.name} has changed since.`);
  };
}

async function lock(tx: Queryable, { lockedBy }: Resource, { project, map, layer }: Request["params"]) {
  if (lockedBy === "states") return;
  if (lockedBy === "project") {
    await tx.query("select from project where code = $1 for update", [project]);
    return;
  }
  const [found] = await tx.query<{ map: number; layer: number | null }>(
    `select m.id as map, n.id as layer from map m join project p on p.id = m.project_id
       left join node n on n.map_id = m.id and n.code = $3 and n.type <> 'folder'
     where p.code = $1 and m.code = $2`,
    [project, map, layer ?? null],
  );
  if (!found) throw notFound(`map "${map}"`);
  if (lockedBy === "columns" && found.layer !== null) await lockStructure(tx, found.layer);
  await lockMap(tx, found.map);
}

/** What the path names when the locks are held. */
async function placeNow(tx: Queryable, idAlias: string, params: Request["params"]): Promise<Place> {
  const catalog = new CatalogReader(tx, idAlias);
  if (params.map === undefined)
    return { project: await catalog.project(params.project!), map: undefined, params };
  const map = await catalog.map(params.project!, params.map);
  return { project: map.project, map, params };
}
