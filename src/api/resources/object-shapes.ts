import { z } from "zod";
import { failed } from "../../errors.js";
import { encodeGeometry } from "../../features/geometry.js";
import type { Srid } from "../../features/geometry-sql.js";
import { mergeObjects, mostMerged } from "../../features/merge.js";
import { mostPieces, splitObject } from "../../features/split.js";
import type { Reply, Request } from "../../http/types.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer } from "../request/caller.js";
import { editableContext } from "../request/context.js";
import { objectMatchHeaders } from "../request/if-match.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { jsonObject } from "../request/schema/bodies.js";
import { anything, invalid, isObject } from "../request/schema/fields.js";
import { objectId } from "../request/schema/parameters.js";
import { ref, ruled, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { geometryParameters } from "./object-parameters.js";

/** One object becomes several, and several become one. */

/** Each is tried against each edge of the object. */
const mostPositions = 10_000;

const splitParameters = { geomSR: geometryParameters.geomSR };
const splitBody = {
  line: ruled(
    anything(
      `A GeoJSON LineString across the object, of at most ${mostPositions} positions.`,
      ref("Geometry"),
    ),
    { blanks: [null] },
  ),
};

/** EWKB. @throws Failure invalid_geometry */
function lineOf(sent: unknown, srid: Srid): Buffer {
  if (!isObject(sent) || sent.type !== "LineString")
    throw failed("invalid_geometry", "line must be a GeoJSON LineString.");
  return encodeGeometry(sent, { srid, kind: "LineString", maxPositions: mostPositions });
}

async function split(
  request: Request,
  services: Services,
  {
    query,
    body,
    headers,
  }: Input<typeof splitParameters, Values<typeof splitBody>, typeof objectMatchHeaders>,
): Promise<Reply> {
  const { map, layer, caller } = await editableContext(request, services);
  services.fullProjects.requireRoom(map.project);
  const id = objectId(request.params.object);
  const { geomSR } = query();
  const line = lineOf((await body()).line, geomSR);
  const versions = headers()["if-match"];
  const { ids, receipt } = await splitObject(services.db, layer, { id, line, versions });
  await services.changes.propagate(receipt);
  const done: Answered<"SplitObjects"> = { ids: [...ids] };
  return answer(caller, done);
}

const severalIds = `must be an array of 2 to ${mostMerged} different ids of objects`;

const mergeBody = {
  ids: ruled(
    z
      .array(z.int(severalIds), severalIds)
      .min(2, severalIds)
      .max(mostMerged, severalIds)
      .refine((ids) => new Set(ids).size === ids.length, severalIds),
    { refuse: invalid, blanks: [null] },
  ).describe("The objects. The first one stays."),
};

async function merge(
  request: Request,
  services: Services,
  { body, headers }: Input<unknown, Values<typeof mergeBody>, typeof objectMatchHeaders>,
): Promise<Reply> {
  const { layer, caller } = await editableContext(request, services);
  const { ids } = await body();
  const { receipt } = await mergeObjects(services.db, layer, { ids, versions: headers()["if-match"] });
  await services.changes.propagate(receipt);
  const [id, ...deleted] = ids;
  const done: Answered<"MergedObjects"> = { id: id!, deleted };
  return answer(caller, done);
}

export const objectShapeOperations: readonly Operation[] = [
  operation({
    id: "splitObject",
    tag: "Objects",
    summary: "Split an object by a line",
    details:
      "Of lines and areas, with holes and several parts. The largest piece stays with the object, and with it the files and all " +
      "parts that the line does not cut; every other piece becomes an object with the same values, without files. The line cuts " +
      `what it crosses from edge to edge. There are at most ${mostPieces} pieces.`,
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/objects/:object/split/`,
    writes: true,
    query: splitParameters,
    headers: objectMatchHeaders,
    changes: "object",
    body: jsonObject(splitBody, sizes.line),
    answer: answers(
      "The ids of the object and of the new ones, by their sizes, largest first.",
      ref("SplitObjects"),
    ),
    refuses: [404, 412, "invalid_geometry", "invalid_value", "required_parameters", "project_full"],
    handle: split,
  }),
  operation({
    id: "mergeObjects",
    tag: "Objects",
    summary: "Merge objects into one",
    details:
      "The first object gets the geometry of all and keeps its values and files; the others are deleted, with theirs. Lines that " +
      "meet end to end become one. If-Match is that of the first object.",
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/objects/merge/`,
    writes: true,
    headers: objectMatchHeaders,
    changes: "object",
    body: jsonObject(mergeBody, sizes.small),
    answer: answers("The object that is left, and those that are deleted.", ref("MergedObjects")),
    refuses: [404, 412, "invalid_value", "required_parameters"],
    handle: merge,
  }),
];
