import { z } from "zod";
import { mayRead, requireRead } from "../../access/rights.js";
import { hasObjects, type MapState } from "../../catalog/state.js";
import type { Languages } from "../../features/column-sql.js";
import { maxZoom } from "../../geo/tile.js";
import type { Reply, Request } from "../../http/types.js";
import { objectsAt, readFound } from "../../identify/identify.js";
import { boxAround, type Place, placeOf, type Searched } from "../../identify/near.js";
import type { Pause } from "../../queues/slices.js";
import { mapAtOnce } from "../../tiles/at-once.js";
import { type MissingLayer, namesOf } from "../../tiles/missing-layer.js";
import { drawnLayers } from "../../tiles/selection.js";
import { clusteredBy } from "../../visual/clustered.js";
import { isVisualized } from "../../visual/style.js";
import { callerHeaders } from "../request/caller.js";
import { mapContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { mapPath } from "../request/paths.js";
import { integer } from "../request/schema/parameters.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { styleOf } from "./layer-symbols.js";
import {
  fieldsParameter,
  geometryParameters,
  geometryShape,
  languageParameter,
  languagesOf,
} from "./object-parameters.js";
import { vectorParameters } from "./tile-parameters.js";
import { tableOf } from "./tile-scopes.js";

/** The objects that a map shows at a place. */

const defaultLimit = 10;
const maxLimit = 100;
const defaultTolerance = 6;
const maxTolerance = 64;

/** Styles that are asked for at once, so that wide maps take no more turns of the compiler than others. */
const stylesAtOnce = 8;
/** For so long styles are waited for; of layers whose styles come later all objects count as drawn. */
const stylesMs = 2_000;
/** Where more layers have objects, each counts as drawn: styles are compiled for that. */
const mostCompiled = 200;
/** Characters of SQL of what styles draw; of the layers below, all objects count as drawn. PostgreSQL reads a megabyte in some 0.5 s. */
const mostConditions = 512 * 1024;

const decimal = /^\s*[+-]?(?:\d{1,4}(?:\.\d{0,30})?|\.\d{1,30})\s*$/;

/** `lat,lon`. Else a bad request. */
const pointParameter = z
  .string()
  .transform((given) => given.split(",", 3).map((part) => (decimal.test(part) ? Number(part) : Number.NaN)))
  .refine(
    (numbers): numbers is [lat: number, lon: number] =>
      numbers.length === 2 && Math.abs(numbers[0]!) <= 90 && Math.abs(numbers[1]!) <= 720,
    "must be two numbers: LAT,LON in degrees",
  )
  .transform(([lat, lon]) => ({ lat, lon }))
  .meta({
    description: "`LAT,LON` in degrees; beyond 180° it is the place a turn away.",
    examples: ["52.5145,13.3765"],
  });

const { returnCentroid: _, ...geometry } = geometryParameters;

const parameters = {
  point: pointParameter,
  zoom: integer("Zoom at which the map is seen: what its style does not draw there is left out.", {
    most: maxZoom,
  }),
  layers: vectorParameters.layers,
  limit: integer(`Number of objects of each layer, at most ${maxLimit}.`, { most: maxLimit }).default(
    defaultLimit,
  ),
  tolerance: integer("Pixels around the point in which objects are found.", { most: maxTolerance }).default(
    defaultTolerance,
  ),
  fields: fieldsParameter,
  ...geometry,
  lng: languageParameter,
};

async function identify(
  request: Request,
  services: Services,
  { query }: Input<typeof parameters, undefined>,
): Promise<Reply> {
  const { map, caller } = await mapContext(request, services);
  requireRead(map, caller);
  const wanted = query();
  const { db } = services;
  const pause = services.slices.begin(`p${map.project.id}`);
  const { signal } = request;
  const place = placeOf(wanted.point, { zoom: wanted.zoom, tolerancePixels: wanted.tolerance });
  const shown = drawnLayers(map, wanted.layers, (layer) => mayRead(map, caller, layer)).filter(hasObjects);
  const languages = languagesOf(map, wanted.lng);
  const visible = shown.map((layer) => ({ layer, clustered: clusteredBy(layer, wanted.zoom) }));
  const here = await layersIn(services, map, visible, place);
  const searched = await drawnAt(services, map, here, { zoom: wanted.zoom, languages, pause });
  const missing: MissingLayer[] = [];
  const found = await objectsAt(db, searched, place, {
    limit: wanted.limit,
    ...{ signal, pause, slow: services.slowLayers, zoom: wanted.zoom },
    leftOut: (layer, err) => {
      missing.push({ id: layer.id, code: layer.code, cause: "database" });
      if (err)
        services.log.warn(
          { err, map: map.id, layer: layer.code },
          "a layer is left out of what is at a place",
        );
    },
  });
  const text = await readFound(
    db,
    found,
    {
      fields: wanted.fields,
      // No finer than it is seen: a shape may have a million vertices.
      geom: wanted.returnGeom
        ? geometryShape({ ...wanted, geomZoom: wanted.geomZoom ?? wanted.zoom, returnCentroid: false })
        : undefined,
      bbox: wanted.returnBbox ? wanted.bboxSR : undefined,
      languages,
    },
    signal,
  );
  const headers = {
    "content-type": "application/json; charset=utf-8",
    ...(missing.length > 0 ? { "x-tile-incomplete": namesOf(missing) } : {}),
    ...callerHeaders(caller),
  };
  return typeof text === "string"
    ? { kind: "json_text", text, headers }
    : { kind: "stream", chunks: text, headers };
}

/** A layer, and what its visualization draws in place of objects. */
type Visible = Omit<Searched, "condition">;

/** Those of the layers that may have objects near enough, by what the node knows of their places. */
async function layersIn(
  { versions }: Services,
  map: MapState,
  layers: readonly Visible[],
  place: Place,
): Promise<readonly Visible[]> {
  const tables = layers.map(({ layer }) => tableOf(map, layer));
  const tracked = await versions.track([...new Set(tables.filter((id) => id !== undefined))]);
  if (!versions.trusted) await versions.refresh(tracked);
  await versions.locate(tracked);
  const known = new Map(tracked.map((one) => [one.id, one]));
  return layers.filter(
    ({ clustered }, index) => known.get(tables[index] ?? 0)?.mayBeIn(boxAround(place, clustered)) !== false,
  );
}

/** The layers of which something is drawn at the zoom, and which of their objects are. */
async function drawnAt(
  services: Services,
  map: MapState,
  layers: readonly Visible[],
  { zoom, languages, pause }: { readonly zoom: number; readonly languages: Languages; readonly pause: Pause },
): Promise<readonly Searched[]> {
  // Tiles show unknown languages as the main one.
  const own = map.project.languages.find((known) => known === languages.own) ?? languages.main;
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      isLate = true;
      resolve(undefined);
    }, stylesMs);
  });
  const styles = await mapAtOnce(layers, stylesAtOnce, async ({ layer }) => {
    if (isVisualized(layer) || layers.length > mostCompiled || isLate) return undefined;
    await pause();
    return (await Promise.race([styleOf(services, map, layer), late]))?.style;
  }).finally(() => clearTimeout(timer));
  const searched: Searched[] = [];
  let characters = 0;
  for (const [index, { layer, clustered }] of layers.entries()) {
    const style = styles[index];
    const seen = { zoom, languages: { ...languages, own } };
    const isKnown = style !== undefined && characters < mostConditions;
    const condition = isKnown ? await services.drawnConditions.of(layer, style, seen) : "true";
    characters += condition?.length ?? 0;
    if (condition !== undefined) searched.push({ layer, condition, clustered });
  }
  return searched;
}

export const identifyOperations: readonly Operation[] = [
  operation({
    id: "identifyObjects",
    tag: "Objects",
    summary: "Find the objects that a map shows at a place",
    details:
      "The objects of the topmost layer come first, in a layer the nearest ones; within an area only what is in it is found, not " +
      "areas beside it. Layers that are not drawn at the zoom and objects that their styles leave out are not found (where styles " +
      "have very many filters, or take long to compile, they are); those of raster, external and client-drawn layers neither. An answer has at most 1000 objects of 100 layers; layers that take too long or cannot be read are left out, and named in the header `X-Tile-Incomplete`. Where a circle of a visualization stands for several objects, one of these is found, with `cluster`: how many they are, and the box to zoom to; objects that lie in one place are found themselves. Codes in `fields` " +
      "that a layer does not have are ignored; localised values without a translation are shown as labels on tiles are.",
    methods: ["GET"],
    path: `${mapPath}/identify/`,
    query: parameters,
    answer: answers("The objects with their layers.", { type: "array", items: ref("FoundObject") }),
    refuses: ["required_parameters"],
    handle: identify,
  }),
];
