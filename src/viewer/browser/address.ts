/** The URL fragment (after #) that describes the current view, so that links open the same view. Never contains a token. */

export interface View {
  readonly zoom: number;
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
}

/** The project's own base map, the built-in one where the project has another, or none. */
export type BaseChoice = "own" | "builtin" | "none";

/** An object by the id of its layer and its own. */
export interface ObjectRef {
  readonly layer: number;
  readonly id: number;
}

export interface Address {
  readonly project: string | undefined;
  readonly map: string | undefined;
  readonly view: View | undefined;
  /** Ids of the layers that are on; undefined = the defaults of the map. */
  readonly layers: readonly number[] | undefined;
  readonly base: BaseChoice;
  /** Opacity of layers that are not opaque, by id: from 0 to 1. Absent when there are none. */
  readonly opacity?: ReadonlyMap<number, number>;
  /** The object whose attributes are shown. */
  readonly object: ObjectRef | undefined;
  /** Of the data; absent = that of the reader's interface. */
  readonly language?: string;
}

const numberIn = (text: string | null, min: number, max: number): number | undefined => {
  if (text === null || text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) && value >= min && value <= max ? value : undefined;
};

/** Whether a text may be the code of a language, such as `ru` or `sr-Latn`. */
export const isLanguage = (text: unknown): text is string =>
  typeof text === "string" && /^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,7}$/.test(text);

/** Parses a fragment; missing or invalid parts are undefined, never an error. */
export function parseAddress(hash: string): Address {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const zoom = numberIn(values.get("z"), 0, 22);
  const lat = numberIn(values.get("lat"), -90, 90);
  const lon = numberIn(values.get("lon"), -540, 540);
  const layers = values.get("layers");
  const language = values.get("lng");
  return {
    project: values.get("project") ?? undefined,
    map: values.get("map") ?? undefined,
    view: zoom === undefined || lat === undefined || lon === undefined ? undefined : { zoom, lat, lon },
    layers: layers === null ? undefined : (layers.match(/\d+/g) ?? []).map(Number).filter((id) => id > 0),
    base: baseIn(values.get("base")),
    ...opacityIn(values.get("opacity")),
    object: objectOf(values.get("object")),
    ...(isLanguage(language) && { language }),
  };
}

const baseIn = (text: string | null): BaseChoice =>
  text === "0" ? "none" : text === "builtin" ? "builtin" : "own";

/** Layers with percents: `12:40,15:75`. */
function opacityIn(text: string | null): Pick<Address, "opacity"> {
  const found = new Map<number, number>();
  for (const [, id, percent] of (text ?? "").matchAll(/(?:^|,)(\d{1,15}):(\d{1,2})(?=,|$)/g))
    if (found.size < maxTranslucent) found.set(Number(id), Number(percent) / 100);
  return found.size > 0 ? { opacity: found } : {};
}

/** Layers that can be translucent at once: each of them is a picture of its own, and what is between them another. */
export const maxTranslucent = 3;

/** `12.345`: layer 12, object 345. */
function objectOf(text: string | null): ObjectRef | undefined {
  const [, layer, id] = /^(\d{1,15})\.(-?\d{1,15})$/.exec(text ?? "") ?? [];
  return layer === undefined ? undefined : { layer: Number(layer), id: Number(id) };
}

/** Decimals of a degree that are significant at a zoom. */
const decimals = (zoom: number): number => Math.min(7, Math.max(2, Math.ceil(zoom / 3) + 1));

/** The fragment with its #, without default values. */
export function formatAddress(address: Address): string {
  const parts: string[] = [];
  const put = (name: string, value: string) => parts.push(`${name}=${value}`);
  if (address.project !== undefined) put("project", encodeURIComponent(address.project));
  if (address.map !== undefined) put("map", encodeURIComponent(address.map));
  if (address.view) {
    const { zoom, lat, lon } = address.view;
    put("z", String(Number(zoom.toFixed(2))));
    put("lat", lat.toFixed(decimals(zoom)));
    put("lon", lon.toFixed(decimals(zoom)));
  }
  if (address.layers) put("layers", address.layers.length > 0 ? address.layers.join(",") : "0");
  if (address.base !== "own") put("base", address.base === "none" ? "0" : address.base);
  const percents = [...(address.opacity ?? [])].map(([id, opacity]) => `${id}:${Math.round(opacity * 100)}`);
  if (percents.length > 0) put("opacity", percents.join(","));
  if (address.object) put("object", `${address.object.layer}.${address.object.id}`);
  if (address.language !== undefined) put("lng", encodeURIComponent(address.language));
  return `#${parts.join("&")}`;
}
