/** Paths and queries of requests, relative to the page. */

export type Query = Readonly<Record<string, string | number | undefined>>;

export const path = (...segments: readonly string[]): string =>
  `${segments.map(encodeURIComponent).join("/")}/`;

export function withQuery(url: string, query: Query): string {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) values.set(name, String(value));
  const text = values.toString().replaceAll("%2C", ",").replaceAll("*", "%2A");
  return text ? `${url}?${text}` : url;
}

/** The list of maps. */
export const mapsAddress = (query: Query): string => withQuery("viewer/maps.json", query);

/** What is asked about a map's layers. */
export const layersQuery = (lng: string | undefined): Query => ({
  ...{ lng, type: "publish", returnBbox: 1, returnCss: 1 },
});
