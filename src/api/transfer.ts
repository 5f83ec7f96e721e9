import { requireRight, rightsOn } from "../catalog/rights.js";
import { type Caller, type LayerNode, type MapState, publicCaller, Right } from "../catalog/state.js";
import { badRequest, failed, notFound, required } from "../errors.js";
import type { Parameters, Reply, Request, Route, UploadedFile } from "../http/types.js";
import { importIntoLayer } from "../transfer/import.js";
import { answer, callerOfToken, mediaType, tokenOf } from "./caller.js";
import { parametersOf, text } from "./parameters.js";
import { layerObject, projectPath, viewOf } from "./present.js";
import type { Services } from "./services.js";
import { visualValues } from "./visuals.js";

/** Import of files into layers. */

/** What was sent, in any of the three ways. */
interface Upload {
  readonly file: UploadedFile;
  readonly extension: string;
  /** Fields of a multipart body; they count where the query has no parameter of that name. */
  readonly fields: Parameters;
}

/** The token may travel in a multipart form, but a body that is data holds none. */
async function importFile(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const map = await services.catalog.map(project.code, request.params.map!);
  const early = await tokenOf(request, { bodyToken: false });
  let target: Target | undefined;
  // Without rights the body is not even read, unless it is what brings the token.
  if (early !== undefined || !isMultipart(request)) target = await targetOf(request, services, map, early);
  const upload = await receive(request, services.config.maxUploadBytes);
  target ??= await targetOf(request, services, map, text(upload.fields, "token"));

  const { caller, layer } = target;
  await importIntoLayer(
    services,
    {
      layerId: layer.id,
      language: text(request.query, "lng") ?? project.languages[0],
      idAlias: services.config.idAlias,
    },
    {
      path: upload.file.path,
      extension: upload.extension,
      srs: text(request.query, "srs") ?? text(upload.fields, "srs"),
      action: actionOf(text(request.query, "action") ?? text(upload.fields, "action")),
    },
    { mayAddColumns: mayAddColumns(map, caller, layer), signal: request.signal },
  );
  await services.changes.settle({ layers: [layer.id], maps: [map.id] });
  services.search.reconsider();

  const now = await services.catalog.map(project.code, map.code);
  const node = now.nodes.get(layer.id);
  if (!node) throw notFound(`layer "${layer.code}"`);
  const values = (await visualValues(services, now, [node])).get(node.id);
  return answer(caller, layerObject(now, node, viewOf(request, now.project), { css: true, values }));
}

interface Target {
  readonly caller: Caller;
  readonly layer: LayerNode;
}

/** The layer of the path, for a caller who may edit its objects. */
async function targetOf(
  request: Request,
  services: Services,
  map: MapState,
  token?: string,
): Promise<Target> {
  const caller = token === undefined ? publicCaller : await callerOfToken(token, services, map.project);
  const layer = map.layers.get(request.params.layer!);
  // Whoever may not edit the map at all does not learn which layers it has.
  requireRight(map, caller, Right.editObjects, layer);
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  if (layer.type !== "layer")
    throw failed("import_failed", `The layer "${layer.code}" takes no vector data.`);
  return { caller, layer };
}

function mayAddColumns(map: MapState, caller: Caller, layer: LayerNode): boolean {
  return (rightsOn(map, caller, layer) & Right.editStructure) !== 0;
}

const isMultipart = (request: Request): boolean => mediaType(request) === "multipart/form-data";

/**
 * The file: field `file` of a multipart body, a body with `X-Filename`, or GeoJSON as the body.
 * @throws Failure required_parameters, too_large, unsupported_format
 */
async function receive(request: Request, limit: number): Promise<Upload> {
  if (isMultipart(request)) {
    const { file, fields } = await request.body.upload("file", limit);
    if (!file) throw required(["file"]);
    return { file, extension: extensionOf(file.clientName), fields: parametersOf(fields) };
  }
  const name = request.header("x-filename");
  const extension = name === undefined ? "geojson" : extensionOf(name);
  return { file: await request.body.toFile(limit), extension, fields: parametersOf({}) };
}

/** All that counts of a client's file name. @throws Failure unsupported_format when it has none */
export function extensionOf(name: string): string {
  const extension = /\.([A-Za-z0-9]{1,10})$/.exec(name.trim())?.[1];
  if (extension === undefined) {
    throw failed("unsupported_format", "The name of the file has no extension that tells its format.");
  }
  return extension.toLowerCase();
}

/** 1 = replace, 2 = merge (default). */
function actionOf(value: string | undefined): "replace" | "merge" {
  if (value === undefined || value === "2") return "merge";
  if (value === "1") return "replace";
  throw badRequest("action is 1 (replace) or 2 (merge).");
}

export const transferRoutes: Route<Services>[] = [
  { methods: ["POST"], path: `${projectPath}/:map/layers/:layer/import/`, handler: importFile },
];
