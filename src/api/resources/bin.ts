import { hasSomewhere, rightsOn, rightsOnProject } from "../../access/rights.js";
import type { BinKind } from "../../catalog/bin.js";
import { type BinEntry, listBin, purgeBin } from "../../catalog/bin-contents.js";
import { restoreColumn } from "../../catalog/column-bin.js";
import { restore } from "../../catalog/restore.js";
import { type Caller, type Grant, type ProjectState, Right } from "../../catalog/state.js";
import { busy, forbidden, notFound, unauthenticated } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer } from "../request/caller.js";
import { type ProjectContext, projectContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { form } from "../request/schema/bodies.js";
import { integer, text } from "../request/schema/parameters.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { administered } from "./style-files.js";

/** What was deleted and can be restored. A user who may delete a thing may restore it, and take it out of the bin for good. */

const dayMs = 86_400_000;

async function signedIn(request: Request, services: Services): Promise<ProjectContext> {
  const context = await projectContext(request, services);
  if (context.caller.accountId === null) throw unauthenticated();
  return context;
}

const administers = ({ project, caller }: ProjectContext): boolean =>
  (rightsOnProject(project, caller) & Right.administer) !== 0;

/** Whether the caller may delete anything in the project now: nobody else restores, whatever the grants of then were. */
const deletesAnything = ({ project, caller }: ProjectContext): boolean =>
  hasSomewhere(project, caller, Right.editStructure | Right.administer);

/** Whether the caller might delete what it was, with the grants of then. */
function mayDelete(project: ProjectState, caller: Caller, entry: BinEntry): boolean {
  if (entry.isInside) return false;
  const grants = entry.grants.map(
    (grant): Grant => ({
      mapId: grant.map_id,
      layerId: grant.layer_id,
      accountId: grant.account_id,
      rights: grant.rights,
    }),
  );
  const map = {
    id: entry.mapId,
    hasPublication: false,
    project: { ...project, grants: [...project.grants, ...grants] },
  };
  const has = (right: number, layer?: number) =>
    (rightsOn(map, caller, layer === undefined ? undefined : { id: layer }) & right) !== 0;
  const layers = entry.layers.every((layer) => has(Right.editStructure, layer));
  switch (entry.kind) {
    case "map":
      return has(Right.administer) && layers;
    case "folder":
      return has(Right.editStructure) && layers;
    case "layer":
      return layers;
    case "column":
      return has(Right.editStructure, entry.layerId!);
  }
}

const element = (
  { id, kind, code, name, map, layer, bytes, deletedAt, by }: BinEntry,
  days: number,
): Answered<"BinEntry"> => ({
  id,
  kind,
  code,
  name,
  map,
  layer,
  bytes,
  deleted: deletedAt.toISOString(),
  deleted_by: by,
  until: new Date(deletedAt.getTime() + days * dayMs).toISOString(),
});

const listParameters = {
  limit: integer("Most entries; default: 100.", { least: 1, most: 1000 }).optional(),
  before: integer("Only entries with lower ids: those after the last one of the answer before.").optional(),
};

async function list(
  request: Request,
  services: Services,
  { query }: Input<typeof listParameters, unknown>,
): Promise<Reply> {
  const context = await signedIn(request, services);
  const { limit = 100, before } = query();
  const { project, caller } = context;
  const all = await listBin(services.db, project.id);
  const isAdmin = administers(context);
  const deletes = deletesAnything(context);
  const seen = all.filter((entry) => isAdmin || (deletes && mayDelete(project, caller, entry)));
  const { days } = services.config.bin;
  const bin: Answered<"Bin"> = {
    bytes: seen.reduce((sum, { bytes }) => sum + bytes, 0),
    entries: seen
      .filter(({ id }) => before === undefined || id < before)
      .slice(0, limit)
      .map((entry) => element(entry, days)),
  };
  return answer(caller, bin);
}

/**
 * For a request about an entry. What needs no more than the catalogue is checked first: of a request that is repeated the
 * body is not read, and the entry is gone.
 * @throws Failure unauthenticated, forbidden
 */
async function whoDeletes(request: Request, services: Services): Promise<ProjectContext> {
  const context = await signedIn(request, services);
  if (!deletesAnything(context)) throw forbidden();
  return context;
}

/** The entry of the path. @throws Failure not_found; forbidden when the caller might not delete it */
async function entryOf(request: Request, services: Services, context: ProjectContext): Promise<BinEntry> {
  const { entry: id = "" } = request.params;
  const [found] = /^\d{1,15}$/.test(id) ? await listBin(services.db, context.project.id, Number(id)) : [];
  if (found && (administers(context) || mayDelete(context.project, context.caller, found))) return found;
  // Others are not told what there is.
  const mayKnow = (rightsOnProject(context.project, context.caller) & Right.editStructure) !== 0;
  throw found || !mayKnow ? forbidden() : notFound(`entry ${id} in the bin`);
}

const restoreBody = {
  code: text("Code that it gets; default: the one that it had.", 64).optional(),
};

async function restoreEntry(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof restoreBody>>,
): Promise<Reply> {
  const context = await whoDeletes(request, services);
  const { project, caller } = context;
  const code = (await body()).code || undefined;
  const { id, kind, mapId, layerId } = await entryOf(request, services, context);
  const { db } = services;
  const restored =
    kind === "column"
      ? await restoreColumn(db, project.id, { id, mapId, layerId: layerId! }, code)
      : await restore(db, project.id, id, code);
  await services.changes.propagate();
  const [place] = await db.query<{ map: string; layer: string | null }>(
    "select code as map, (select code from node where id = $2) as layer from map where id = $1",
    [restored.mapId, restored.layerId],
  );
  const done: Answered<"Restored"> = {
    kind: restored.kind satisfies BinKind,
    id: restored.id,
    code: restored.code,
    map: place?.map ?? "",
    layer: place?.layer ?? null,
    notes: [...restored.notes],
  };
  return answer(caller, done);
}

/** @throws Failure busy when something of it is in use and still in the bin */
async function purgeAll({ db }: Services, which: { readonly project: number; readonly id?: number }) {
  while ((await purgeBin(db, which)) > 0);
  const left = await db.query(
    "select from bin where project_id = $1 and ($2::bigint is null or id = $2) limit 1",
    [which.project, which.id ?? null],
  );
  if (left.length > 0)
    throw busy("Columns are still in the bin: their layers are in use, or others are made from them.");
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const context = await whoDeletes(request, services);
  const { id } = await entryOf(request, services, context);
  const { caller, project } = context;
  await purgeAll(services, { project: project.id, id });
  return answer(caller, null);
}

async function empty(request: Request, services: Services): Promise<Reply> {
  const { project, caller } = await administered(request, services);
  await purgeAll(services, { project: project.id });
  return answer(caller, null);
}

const binPath = `${projectPath}/bin`;

export const binOperations: readonly Operation[] = [
  operation({
    id: "listBin",
    tag: "Maps",
    summary: "List what is in the bin",
    details:
      "Deleted maps, folders, layers and columns, newest first: all for administrators, for others what they may delete and " +
      "whose map or layer is there. Each can be restored until its time is over (`bin.days`).",
    access: "token",
    methods: ["GET"],
    path: `${binPath}/`,
    query: listParameters,
    answer: answers("What is in the bin, of at most 10,000 entries.", ref("Bin")),
    handle: list,
  }),
  operation({
    id: "restoreFromBin",
    tag: "Maps",
    summary: "Restore what was deleted",
    details:
      "It comes back with all that hung on it: objects, files, styles, columns, constraints, rights, its place in the tree and " +
      "the ids that it had. The response is 409 if its code is taken by now (send another `code`), and 404 if the map or layer " +
      "that it was in is gone (restore that first).",
    access: "token",
    methods: ["POST"],
    path: `${binPath}/:entry/restore/`,
    writes: true,
    changes: { unconditionally: "What is in the bin does not change." },
    long: true,
    body: form(restoreBody, sizes.small),
    answer: answers("What was restored.", ref("Restored")),
    refuses: [404, 409, "invalid_value", "invalid_code"],
    handle: restoreEntry,
  }),
  operation({
    id: "deleteFromBin",
    tag: "Maps",
    summary: "Delete for good what is in the bin",
    access: "token",
    methods: ["DELETE"],
    path: `${binPath}/:entry/`,
    writes: true,
    changes: { unconditionally: "What is in the bin does not change." },
    answer: answers("Nothing.", { type: "null" }),
    refuses: [404],
    handle: remove,
  }),
  operation({
    id: "emptyBin",
    tag: "Maps",
    summary: "Delete for good all that is in the bin",
    details: "For administrators.",
    access: "token",
    methods: ["DELETE"],
    path: `${binPath}/`,
    writes: true,
    changes: { unconditionally: "It is meant for all that is there." },
    answer: answers("Nothing.", { type: "null" }),
    handle: empty,
  }),
];
