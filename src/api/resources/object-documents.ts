import type { Geometry } from "geojson";
import { isPicture } from "../../catalog/file-types.js";
import { type AttachedFile, filesOfObject } from "../../catalog/files.js";
import { type Caller, type LayerNode, localName, type MapState } from "../../catalog/state.js";
import { Failure, failed, notFound } from "../../errors.js";
import { type Languages, valueColumns } from "../../features/column-sql.js";
import { getGeometry } from "../../features/edit.js";
import { getObject } from "../../features/get.js";
import { wholeText } from "../../features/json-text.js";
import type { ContractBox } from "../../geo/envelope.js";
import { HostError } from "../../hosts/host.js";
import type { ImageUser } from "../../hosts/image.js";
import type { PrintRequest } from "../../hosts/messages.js";
import { contentDisposition } from "../../http/headers.js";
import type { Reply, Request } from "../../http/types.js";
import { listedIds, objectName, printedItems } from "../../print/items.js";
import { type DrawnMap, printedMap, viewportOf } from "../../print/map.js";
import { clientOwners } from "../../queues/clients.js";
import { namesOf } from "../../tiles/missing-layer.js";
import { callerHeaders, imageUser } from "../request/caller.js";
import type { Services } from "../services.js";
import { attribution } from "./tiles.js";

/** An object as a PDF document (`f=pdf`). */

export interface PrintTarget {
  readonly map: MapState;
  readonly layer: LayerNode;
  readonly caller: Caller;
  readonly id: number;
  readonly languages: Languages;
}

const maxPictures = 20;
const pictureOptions = { width: 1_200, fit: "fill", format: "jpeg", shrinkOnly: true } as const;

/** The object as PDF. @throws Failure not_found, busy, internal when it takes too long */
export async function printObject(request: Request, services: Services, target: PrintTarget): Promise<Reply> {
  const { layer, map, id, languages, caller } = target;
  const { db } = services;
  const shape = { fields: valueColumns(layer), bbox: 3857, languages, readable: true } as const;
  const found = await getObject(db, layer, id, shape);
  if (!found) throw notFound(`object ${id}`);
  const { fields, bbox } = JSON.parse(wholeText(found.json)) as {
    fields: Record<string, unknown>;
    bbox: ContractBox | null;
  };
  const files = await filesOfObject(db, layer, id);
  const names = new Map(files.map((file) => [file.id, file.name]));
  const user = imageUser(request, caller);
  const [drawn, pictures] = await Promise.all([
    bbox ? mapOf(request, services, target, bbox) : undefined,
    picturesOf(services, layer, { fields, files, user }),
  ]);
  const printed: PrintRequest = {
    title: objectName(layer, fields, id),
    subtitle: localName(layer, languages.own, languages.main) || layer.code,
    language: languages.own,
    map: drawn?.printed,
    items: printedItems(layer, { fields, files: names, languages }),
    pictures,
  };
  const pdf = await services.image.call("print", printed, user).catch((error: unknown) => {
    if (!(error instanceof HostError)) throw error;
    services.log.warn(
      { err: error, map: map.code, layer: layer.code, object: id },
      "an object was not printed",
    );
    throw failed("internal", "The document takes too long to make.", { request: request.id });
  });
  return {
    kind: "bytes",
    body: pdf,
    headers: {
      "content-type": "application/pdf",
      "content-disposition": contentDisposition("inline", `${layer.code}-${id}.pdf`),
      ...(drawn && drawn.missing.length > 0 ? { "x-tile-incomplete": namesOf(drawn.missing) } : {}),
      ...callerHeaders(caller),
    },
  };
}

/** A map of the object; undefined on errors, because a document without a map is still useful. */
async function mapOf(
  request: Request,
  services: Services,
  { map, layer, caller, id, languages }: PrintTarget,
  { sw, ne }: ContractBox,
): Promise<DrawnMap | undefined> {
  const viewport = viewportOf([sw[1], sw[0], ne[1], ne[0]]);
  const user = imageUser(request, caller);
  // Before its shape is read: those that wait for their turn hold none in memory.
  const release = await services.printSemaphore.acquire({
    owners: [...clientOwners(user.client), `p${map.project.id}`],
    signal: user.signal,
  });
  try {
    const shape = { srid: 3857, zoom: viewport.z } as const;
    const geometry = JSON.parse(
      wholeText((await getGeometry(services.db, layer, id, shape)) ?? "null"),
    ) as Geometry | null;
    if (!geometry) return undefined;
    return await printedMap(services, {
      map,
      caller,
      language: languages.own,
      viewport,
      geometry,
      attribution: attribution(map),
      ...user,
    });
  } catch (error) {
    if (!(error instanceof Failure) || error.kind === "busy") throw error;
    services.log.warn({ err: error, layer: layer.code, object: id }, "an object was printed without its map");
    return undefined;
  } finally {
    release();
  }
}

/** Attached images in the order of their columns; images that cannot be decoded are omitted. */
async function picturesOf(
  services: Services,
  layer: LayerNode,
  {
    fields,
    files,
    user,
  }: {
    readonly fields: Readonly<Record<string, unknown>>;
    readonly files: readonly AttachedFile[];
    readonly user: ImageUser;
  },
): Promise<PrintRequest["pictures"]> {
  const byId = new Map(files.map((file) => [file.id, file]));
  const wanted = layer.columns
    .filter(({ type }) => type === "file")
    .flatMap(({ code }) => listedIds(fields[code]))
    .flatMap((id) => byId.get(id) ?? [])
    .filter(({ mime }) => isPicture(mime))
    .slice(0, maxPictures);
  const made = await Promise.all(
    wanted.map(async (file) => {
      try {
        const { bytes } = await services.pictures.resized(
          { blob: file.uuid, ...pictureOptions },
          // A signal for each: Node warns of a leak when one signal has more than ten listeners.
          { ...user, signal: AbortSignal.any([user.signal]) },
        );
        return [{ caption: file.name, jpeg: bytes }];
      } catch (error) {
        if (error instanceof Failure && error.kind !== "busy") return [];
        throw error;
      }
    }),
  );
  return made.flat();
}
