/** The URL fragment (after #) that describes the current view, so that links open the same view. Never contains a token. */

export interface View {
  readonly zoom: number;
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
}

export interface Address {
  readonly project: string | undefined;
  readonly map: string | undefined;
  readonly view: View | undefined;
  /** Ids of the layers that are on; undefined = the defaults of the map. */
  readonly layers: readonly number[] | undefined;
  /** Whether the base map is on. */
  readonly base: boolean;
}

const numberIn = (text: string | null, min: number, max: number): number | undefined => {
  if (text === null || text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) && value >= min && value <= max ? value : undefined;
};

/** Parses a fragment; missing or invalid parts are undefined, never an error. */
export function parseAddress(hash: string): Address {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const zoom = numberIn(values.get("z"), 0, 22);
  const lat = numberIn(values.get("lat"), -90, 90);
  const lon = numberIn(values.get("lon"), -180, 180);
  const layers = values.get("layers");
  return {
    project: values.get("project") ?? undefined,
    map: values.get("map") ?? undefined,
    view: zoom === undefined || lat === undefined || lon === undefined ? undefined : { zoom, lat, lon },
    layers: layers === null ? undefined : (layers.match(/\d+/g) ?? []).map(Number).filter((id) => id > 0),
    base: values.get("base") !== "0",
  };
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
  if (!address.base) put("base", "0");
  return `#${parts.join("&")}`;
}
