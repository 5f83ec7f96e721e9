import type { Catalog } from "../../catalog/catalog.js";
import { isLayer, type MapState } from "../../catalog/state.js";
import { Failure, notFound } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import type { Services } from "../services.js";

/**
 * Whether a caller may still do what was done before: the handler itself is asked, as far as to where it would read or write
 * more than the catalogue. Rights are checked before that.
 */

/** The map and the layer that the path of a request named, which may have other codes by now. */
export interface NamedIds {
  readonly map: number | undefined;
  readonly layer: number | undefined;
}

export async function namedBy(
  { params }: Pick<Request, "params">,
  { catalog }: Pick<Services, "catalog">,
): Promise<NamedIds> {
  const { project, map: mapCode, layer } = params;
  const map = mapCode === undefined ? undefined : await catalog.map(project!, mapCode).catch(() => undefined);
  return { map: map?.id, layer: layer === undefined ? undefined : map?.layers.get(layer)?.id };
}

/** The handler would now do something. */
class Begun extends Error {}

/** What who rehearses may use; the rest only says that it was used. */
const usable: ReadonlySet<PropertyKey> = new Set<keyof Services>([
  ...(["config", "log", "sessions", "tileKeys", "limits", "plugins", "versions", "externalTokens"] as const),
]);
const unusable: unknown = new Proxy(
  {},
  {
    get: () => () => {
      throw new Begun();
    },
  },
);

/**
 * @param named what the path named when it was done
 * @throws Failure unauthenticated, forbidden when the caller may not do it any more; not_found when the map or layer is gone,
 *   unless the request deleted something; project_not_found, busy
 */
export async function requireStillAllowed(
  request: Request,
  services: Services,
  named: NamedIds,
  handle: (services: Services) => Promise<Reply> | Reply,
): Promise<void> {
  const catalog = new CatalogThen(request, services, named);
  const rehearsing = new Proxy(services, {
    get: (target, name) =>
      name === "catalog" ? catalog : usable.has(name) ? target[name as keyof Services] : unusable,
  });
  try {
    await handle(rehearsing);
  } catch (error) {
    if (!(error instanceof Failure)) return;
    const { kind, code } = error;
    if (kind === "unauthenticated" || kind === "busy" || code === "project_not_found") throw error;
    // Rights on what was deleted are gone with it; that it is gone is all that its deletion says.
    const isDeletion = catalog.isGone && request.method === "DELETE";
    if ((kind === "forbidden" || (kind === "not_found" && catalog.isGone)) && !isDeletion) throw error;
  }
}

/** The catalogue of now, in which the path names what it named then. */
class CatalogThen implements Pick<Catalog, "project" | "map"> {
  /** Whether the map or the layer has been deleted. */
  isGone = false;

  constructor(
    private readonly request: Request,
    private readonly services: Services,
    private readonly named: NamedIds,
  ) {}

  project(code: string) {
    return this.services.catalog.project(code);
  }

  async map(project: string, code: string): Promise<MapState> {
    const { params } = this.request;
    const { named } = this;
    if (code !== params.map || named.map === undefined) return this.services.catalog.map(project, code);
    const map = await this.mapOf(project, code, named.map);
    const layer = named.layer === undefined ? undefined : map.nodes.get(named.layer);
    if (params.layer === undefined || named.layer === undefined || map.layers.get(params.layer) === layer)
      return map;
    const layers = new Map(map.layers);
    if (layer && isLayer(layer)) layers.set(params.layer, layer);
    else {
      this.isGone = true;
      layers.delete(params.layer);
    }
    return { ...map, layers };
  }

  private async mapOf(project: string, code: string, id: number): Promise<MapState> {
    const { db, catalog } = this.services;
    const known = await catalog.map(project, code).catch(() => undefined);
    if (known?.id === id) return known;
    const [row] = await db.query<{ code: string }>("select code from map where id = $1", [id]);
    const map = row && (await catalog.map(project, row.code));
    if (map?.id === id) return map;
    this.isGone = true;
    throw notFound(`map "${code}"`);
  }
}
