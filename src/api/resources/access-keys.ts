import {
  type AccessKeyInfo,
  addAccessKey,
  deleteAccessKey,
  isKeyName,
  type KeyRights,
  listAccessKeys,
  timeToCome,
} from "../../access/access-keys.js";
import type { ProjectState } from "../../catalog/state.js";
import { failed, notFound, required } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import type { Answered } from "../request/answer-schemas.js";
import { uncached } from "../request/caller.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { form } from "../request/schema/bodies.js";
import { choice, text } from "../request/schema/parameters.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { changingMembers } from "./members.js";
import { administered } from "./style-files.js";

/** Keys that last, for programs, made by administrators of a project. */

const newKey = {
  name: text("What it is for, as people will recognise it.", 200).optional(),
  rights: choice("What it may do. `edit`: objects, columns and styles.", [
    "read",
    "edit",
  ] as const satisfies readonly KeyRights[]),
  map: text("Code of the map that it is for; default: all maps.").optional(),
  layer: text("Code of the layer of that map; default: the whole map.").optional(),
  expires: text("When it ends, as `2027-01-31T12:00:00Z`; default: never.").optional(),
};

const shown = ({ expires, created, used, ...key }: AccessKeyInfo): Answered<"AccessKey"> => ({
  ...key,
  expires: expires?.toISOString() ?? null,
  created: created.toISOString(),
  used: used?.toISOString() ?? null,
});

async function list(request: Request, services: Services): Promise<Reply> {
  const { project } = await administered(request, services);
  return uncached((await listAccessKeys(services.db, project.id)).map(shown));
}

async function make(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof newKey>>,
): Promise<Reply> {
  // Somebody who administers by a grant alone may have less on some of its maps than a key for all of them.
  const { project, caller, by: author } = await changingMembers(request, services);
  const { name, rights, expires, ...place } = await body();
  if (name === undefined || name.trim() === "") throw required(["name"]);
  if (!isKeyName(name))
    throw failed("invalid_value", "A name has no control characters.", { parameter: "name" });
  const { db, changes } = services;
  const { id, key } = await addAccessKey(db, project.id, {
    ...{ name, rights, endsAt: endOf(expires), by: (caller.grantedBy ?? caller).login! },
    author,
    ...(await scopeOf(services, project, place)),
  });
  await changes.propagate();
  const info = (await listAccessKeys(db, project.id)).find((one) => one.id === id);
  if (!info) throw notFound("key of that id");
  return uncached({ ...shown(info), key });
}

/** @throws Failure not_found; invalid_value for a layer without a map */
async function scopeOf(
  { catalog }: Services,
  project: ProjectState,
  { map: code, layer: layerCode }: { readonly map?: string | undefined; readonly layer?: string | undefined },
): Promise<{ readonly mapId: number | null; readonly layerId: number | null }> {
  if (code === undefined) {
    if (layerCode !== undefined) throw failed("invalid_value", "A layer is named with its map.");
    return { mapId: null, layerId: null };
  }
  const map = await catalog.map(project.code, code);
  if (layerCode === undefined) return { mapId: map.id, layerId: null };
  const layer = map.layers.get(layerCode);
  if (!layer) throw notFound(`layer "${layerCode}"`);
  return { mapId: map.id, layerId: layer.id };
}

/** @throws Failure invalid_value for what is no time, or over */
function endOf(expires: string | undefined): Date | null {
  const time = timeToCome(expires);
  if (time !== undefined) return time;
  throw failed("invalid_value", "`expires` is a time to come, such as 2027-01-31T12:00:00Z.", {
    parameter: "expires",
  });
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const { project } = await administered(request, services);
  const { id = "" } = request.params;
  const isThere = /^\d{1,9}$/.test(id) && (await deleteAccessKey(services.db, project.id, Number(id)));
  if (!isThere) throw notFound("key of that id");
  await services.changes.propagate();
  return uncached(null);
}

const keysPath = `${projectPath}/keys`;

const keys = { unconditionally: "A key is made and ended, and never changed." };

export const accessKeyOperations: readonly Operation[] = [
  operation({
    id: "listAccessKeys",
    tag: "Sessions",
    summary: "List the keys that last",
    details: "For administrators. The keys themselves are stored nowhere.",
    access: "token",
    methods: ["GET"],
    path: `${keysPath}/`,
    answer: answers("The keys, in the order in which they were made.", {
      type: "array",
      items: ref("AccessKey"),
    }),
    handle: list,
  }),
  operation({
    id: "makeAccessKey",
    tag: "Sessions",
    counts: "writes",
    changes: keys,
    summary: "Make a key that lasts",
    details:
      "For users with the role `admin`. A program uses it as a token everywhere, as the password of HTTP Basic with any user, and, if " +
      "it only reads, as `key` in addresses of tiles. It has its rights and no others, and elsewhere reads what the public reads; it " +
      "cannot administer. It ends when it is deleted, or at `expires`, and not with the user who made it.",
    access: "token",
    methods: ["POST"],
    path: `${keysPath}/`,
    body: form(newKey, sizes.small),
    answer: answers("The key. Write `key` down: it is shown only now.", ref("AccessKey")),
    refuses: [404, "invalid_value", "required_parameters"],
    handle: make,
  }),
  operation({
    id: "endAccessKey",
    tag: "Sessions",
    counts: "writes",
    changes: keys,
    summary: "End a key that lasts",
    details: "For administrators. No request is answered by it from then on.",
    access: "token",
    methods: ["DELETE"],
    path: `${keysPath}/:id/`,
    answer: answers("Nothing.", { type: "null" }),
    refuses: [404],
    handle: remove,
  }),
];
