import { loginOf } from "../../catalog/bin.js";
import { notFound } from "../../errors.js";
import { getGeometry, putGeometry } from "../../features/edit.js";
import type { Reply, Request } from "../../http/types.js";
import { answerText } from "../request/caller.js";
import { editableContext, objectsContext, toReadSignedIn } from "../request/context.js";
import { objectMatchHeaders } from "../request/if-match.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { jsonValue } from "../request/schema/bodies.js";
import { objectId } from "../request/schema/parameters.js";
import { ref } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { sentGeometry } from "./object-bodies.js";
import { geometryParameters } from "./object-parameters.js";

/** The geometry of an object: get and change. */

const { geomSR, geomZoom } = geometryParameters;
const readParameters = { geomSR, geomZoom };
const changeParameters = { geomSR };

async function read(
  request: Request,
  services: Services,
  { query }: Input<typeof readParameters, undefined>,
): Promise<Reply> {
  const { layer, caller } = await objectsContext(request, services, toReadSignedIn);
  const id = objectId(request.params.object);
  const parameters = query();
  const shape = { srid: parameters.geomSR, zoom: parameters.geomZoom };
  const geometry = await getGeometry(services.db, layer, id, shape);
  if (geometry === undefined) throw notFound(`object ${id}`);
  return answerText(caller, geometry);
}

async function change(
  request: Request,
  services: Services,
  { query, body, headers }: Input<typeof changeParameters, unknown, typeof objectMatchHeaders>,
): Promise<Reply> {
  const { layer, caller } = await editableContext(request, services);
  const id = objectId(request.params.object);
  const { geomSR: srid } = query();
  const geom = await sentGeometry(request, services, { caller, body, rules: { layer, srid } });
  const changed = await putGeometry(services.db, layer, id, {
    geom,
    shape: { srid },
    versions: headers()["if-match"],
    login: loginOf(caller),
  });
  if (changed === undefined) throw notFound(`object ${id}`);
  await services.changes.propagate(changed.receipt);
  return answerText(caller, changed.json);
}

const geometry = { anyOf: [ref("Geometry"), { type: "null" }] };

export const objectGeometryOperations: readonly Operation[] = [
  operation({
    id: "getGeometry",
    tag: "Objects",
    summary: "Get the geometry of an object",
    access: "token",
    methods: ["GET"],
    path: `${layerPath}/objects/:object/geom/`,
    query: readParameters,
    answer: answers("GeoJSON; null for an object without geometry.", geometry),
    refuses: [404],
    handle: read,
  }),
  operation({
    id: "changeGeometry",
    tag: "Objects",
    summary: "Change the geometry of an object",
    access: "token",
    methods: ["PUT"],
    path: `${layerPath}/objects/:object/geom/`,
    writes: true,
    query: changeParameters,
    headers: objectMatchHeaders,
    changes: "object",
    body: jsonValue(geometry, (value) => value, sizes.data),
    answer: answers("The changed geometry.", geometry),
    refuses: [404, 412, "invalid_geometry", "invalid_value", "constraint_violated"],
    handle: change,
  }),
];
