import { requireRight } from "../../access/rights.js";
import type { TileKey } from "../../access/tile-keys.js";
import { type MapState, Right } from "../../catalog/state.js";
import { failed } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { answer, tokenOf } from "../request/caller.js";
import { signedInMapContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { mapPath } from "../request/paths.js";
import { form } from "../request/schema/bodies.js";
import { flag, integer, text } from "../request/schema/parameters.js";
import type { Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";

/** Keys for the tiles of one map, which addresses carry in place of a session token. */

const lifeParameters = {
  seconds: integer(
    "How long the key lives at most; default, and at most: what the installation allows, twelve hours if it does not say " +
      "otherwise.",
    { least: 1 },
  ).optional(),
};

const endParameters = {
  key: text("The key to end; default: all that the caller has for this map, from any session.").optional(),
  all: flag("Whether all keys for the map end, of all users; for administrators."),
};

/** A key as it is answered. @param baseUrl public address of the server, without a trailing slash */
export function withAddresses({ key, expiresAt }: TileKey, baseUrl: string, { project, code }: MapState) {
  const base = `${baseUrl}/tms/${project.code}/${code}`;
  return {
    key,
    url: `${base}/{z}/{x}/{y}.png?key=${key}`,
    tilejson: `${base}/tile.json?key=${key}`,
    expires: new Date(expiresAt).toISOString(),
  };
}

async function makeKey(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof lifeParameters>>,
): Promise<Reply> {
  const { map, caller } = await signedInMapContext(request, services);
  const { seconds } = await body();
  if (caller.isKey)
    throw failed("invalid_value", "A key that lasts stands in the place of a key for tiles itself.");
  const owner = { accountId: caller.accountId!, mapId: map.id };
  const made = await services.tileKeys.make((await tokenOf(request))!, owner, seconds);
  return answer(caller, withAddresses(made, request.baseUrl, map));
}

async function endKeys(
  request: Request,
  services: Services,
  { query }: Input<typeof endParameters, undefined>,
): Promise<Reply> {
  const { map, caller } = await signedInMapContext(request, services);
  const { key, all } = query();
  const { tileKeys } = services;
  if (all) requireRight(map, caller, Right.administer);
  const accountId = caller.accountId!;
  if (key !== undefined)
    return answer(caller, { ended: Number(await tileKeys.revoke(key, map.id, all ? undefined : accountId)) });
  const accountIds = all ? [...map.project.members.keys()] : [accountId];
  return answer(caller, { ended: await tileKeys.revokeAll(accountIds, map.id) });
}

const keys = { unconditionally: "A key is made and ended, and never changed." };

export const tileKeyOperations: readonly Operation[] = [
  operation({
    id: "makeTileKey",
    tag: "Tiles",
    counts: "writes",
    changes: keys,
    summary: "Make a key for the tiles of a map",
    details:
      "For programs that cannot send a session token: `key` in the query of tiles, vector tiles, TileJSON, icons and legends " +
      "of this map stands for the session that made it, with the rights of its user at the time of each request, and for " +
      "nothing else. It ends with the session, at `expires`, and when it is deleted. Its use counts as a use of the session. " +
      "A session has at most 64 keys at a time.",
    access: "token",
    methods: ["POST"],
    path: `${mapPath}/tile-key/`,
    body: form(lifeParameters, sizes.small),
    answer: answers("The key, with addresses that have it.", {
      type: "object",
      required: ["key", "url", "tilejson", "expires"],
      properties: {
        key: { type: "string" },
        url: { type: "string", description: "URL template of the tiles (XYZ)" },
        tilejson: { type: "string", description: "URL of the TileJSON" },
        expires: { type: "string", format: "date-time", description: "When the key ends at the latest" },
      },
    }),
    refuses: ["invalid_value"],
    handle: makeKey,
  }),
  operation({
    id: "endTileKeys",
    tag: "Tiles",
    counts: "writes",
    changes: keys,
    summary: "End keys for the tiles of a map",
    details:
      "One, or all that the caller has for this map. Administrators end those of all users with `all`.",
    access: "token",
    methods: ["DELETE"],
    path: `${mapPath}/tile-key/`,
    query: endParameters,
    answer: answers("The number of keys that have ended.", {
      type: "object",
      required: ["ended"],
      properties: { ended: { type: "integer" } },
    }),
    handle: endKeys,
  }),
];
