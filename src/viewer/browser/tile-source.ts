import type { BaseChoice } from "./address.js";
import { path, withQuery } from "./paths.js";

/** Where the tiles of a map come from. */

/** What tiles of a map show. */
export interface TilesShown {
  /** Ids; undefined = the defaults of the map. */
  readonly layers: readonly number[] | undefined;
  /** The project's base map, the built-in one where the project has another, or none. */
  readonly base: BaseChoice;
  /** Whether they have the background colour of the map's style. */
  readonly background?: boolean;
}

export interface TileSource {
  readonly path: string;
  /** The rest of the query after x, y and z, beginning with &. */
  readonly query: string;
  /** What tiles are asked for with, where it is more than an address; absent = nothing. */
  readonly post?: TilePost;
}

/** A request for a tile with a body, such as one with a style that is not saved. */
export interface TilePost {
  readonly path: string;
  /** JSON. */
  readonly body: string;
}

/** Default values are left out, so that clients share cache entries. */
export function tileSource(
  { project, map }: { readonly project: string; readonly map: string },
  { layers, base, background }: TilesShown,
  {
    lng,
    isSharp,
    token,
  }: { readonly lng: string | undefined; readonly isSharp: boolean; readonly token?: string | undefined },
): TileSource {
  const query = withQuery("", {
    layers: layers && (layers.join(",") || "0"),
    base: base === "none" ? 0 : base === "builtin" ? "builtin" : undefined,
    background: background === false ? 0 : undefined,
    lng,
    retina: isSharp ? 2 : undefined,
    ...(hasSlowLine() && { q: 1, f: "webp" }),
    token,
  });
  return { path: `tms/${path(project, map)}`, query: query.replace("?", "&") };
}

declare global {
  var isLineSlow: boolean | undefined;
}

/**
 * Whether the browser tells that its line is slow, or that bytes are dear: then tiles may differ a little from what was drawn,
 * which makes them smaller. It is the same as long as the page is open, so that no tile is asked for twice.
 */
export function hasSlowLine(): boolean {
  const { connection } = navigator as { connection?: { effectiveType?: string; saveData?: boolean } };
  globalThis.isLineSlow ??=
    connection?.saveData === true || /^(?:slow-)?[23]g$/.test(connection?.effectiveType ?? "");
  return globalThis.isLineSlow;
}

/** @param tile `x` in any copy of the world; `y` from the top, while the API counts it from the bottom (TMS) */
export const tileAddress = (
  source: TileSource,
  { x, y, z }: { readonly x: number; readonly y: number; readonly z: number },
): string =>
  `${source.post?.path ?? source.path}?x=${x & (2 ** z - 1)}&y=${2 ** z - 1 - y}&z=${z}${source.query}`;
