import { requireRead } from "../catalog/rights.js";
import { type Column, localName } from "../catalog/state.js";
import { notFound } from "../errors.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer, callerOf } from "./caller.js";
import { projectPath, viewOf } from "./present.js";
import type { Services } from "./services.js";

/** The structure of a layer: its columns. */

async function list(request: Request, services: Services): Promise<Reply> {
  const { project = "", map: mapCode = "", layer: layerCode = "" } = request.params;
  const map = await services.catalog.map(project, mapCode);
  const caller = await callerOf(request, services, map.project);
  const layer = map.layers.get(layerCode);
  requireRead(map, caller, layer);
  if (!layer) throw notFound(`layer "${layerCode}"`);
  const { language } = viewOf(request, map.project);
  return answer(
    caller,
    layer.columns.map((column) => columnElement(column, language, map.project.languages[0])),
  );
}

/** The column element of the contract, its title in the language. */
function columnElement(column: Column, language: string, main: string): Record<string, unknown> {
  return {
    id: column.id,
    sort: column.sort,
    parent_id: column.parentId ?? 0,
    code: column.code,
    name: localName(column, language, main),
    required: column.required,
    type: column.type,
    localized_name: column.localized,
    localized_value: column.localizedValue,
  };
}

export const structureRoutes: readonly Route<Services>[] = [
  { methods: ["GET"], path: `${projectPath}/:map/layers/:layer/structure/`, handler: list },
];
