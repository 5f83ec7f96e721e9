import type { Operation } from "../../src/api/request/operation.js";
import { apiRoutes } from "../../src/api/routes.js";
import { endpoints, line } from "../api/rights-table.support.js";

/** The requests that a change of the catalogue may overtake: over the table of routes, so that a new one is among them. */

export type Kind = "layer" | "virtual" | "material";

export interface Wish {
  readonly query?: string | undefined;
  readonly body?: unknown;
  /** Default: a layer of objects of its own. */
  readonly kind?: Kind;
  /** Whether it is not asked at each of its statements, which are those of another wish. */
  readonly isBrief?: boolean;
  /** Of the API; default: the current one. */
  readonly version?: string;
}

export interface Case {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly wish: Wish;
  /** Status when nobody is in the way. */
  readonly ok: number;
}

const geometry = { type: "Point", coordinates: [1, 2] };
/** A visualization of the layer that requests are for. */
export const visualSettings = { type: 2, columnCode: "c", classesSettings: { classes: [{ value: "x" }] } };
const feature = { type: "Feature", properties: { c: "x", added: 1 }, geometry };
const everywhere = { returnBbox: "returnBbox=1", all: "fields=*&returnGeom=1&returnBbox=1" };

/** What is asked for besides, or in place of, what the table of rights asks for; `$layer` stands for the layer's code, `$ids` for its objects. */
const wishes: Readonly<Record<string, readonly Wish[]>> = {
  "GET P/:map/layers/": [
    { query: "type=full&returnBbox=1&returnCss=1" },
    { query: "type=full&returnBbox=1", kind: "virtual" },
    { version: "2.2" },
    { version: "2.0" },
  ],
  "POST P/:map/layers/": [
    { body: {} },
    { body: { type: "virtual", source: { layer: "$layer", filter: "c = 'x'" } } },
    { body: { type: "material", source: { layer: "$layer" } }, isBrief: true },
  ],
  "POST P/:map/publish/": [{ body: [] }, { body: [], version: "2.2" }],
  "GET P/:map/layers/:layer/": [
    { query: "returnBbox=1&with_timestamp=1&with_access=1" },
    { query: "returnBbox=1", kind: "material" },
    { version: "2.2" },
  ],
  "PATCH P/:map/layers/:layer/": [
    { body: { parent_id: 0, name: "x", css_style: "#a { marker-width: 3 }", sort: 1 } },
    { body: { parent_id: 0, name: "x" }, version: "2.2" },
  ],
  "DELETE P/:map/layers/:layer/": [{}, { kind: "virtual" }, { kind: "material" }],
  "GET P/:map/layers/:layer/bbox/": [{}, { kind: "virtual" }],
  "GET P/:map/layers/:layer/legend/": [{}],
  "POST P/:map/layers/:layer/refresh/": [{ kind: "material" }],
  "PUT P/:map/layers/:layer/visualization/": [
    { body: { visualSettings: { ...visualSettings, type: 1, columnCode: "n" } } },
  ],
  "POST P/:map/layers/:layer/structure/": [{ body: { code: "made", type: "string", sort: 1 } }],
  "PUT P/:map/layers/:layer/structure/:column/": [{ body: { type: "text", code: "other", sort: 1 } }],
  "DELETE P/:map/layers/:layer/structure/:column/": [{}],
  "PUT P/:map/layers/:layer/constraints/": [
    { body: [{ type: "pattern", columns: ["c"], definition: "[xy]" }] },
  ],
  "POST P/:map/layers/:layer/import/": [
    { body: feature },
    { body: { ...feature, properties: { c: "y" } }, query: "action=1", isBrief: true },
  ],
  "GET P/:map/layers/:layer/export/": [
    { query: "format=geojson" },
    { query: "format=geojson&zip=1&langs=en", kind: "material" },
  ],
  "GET P/:map/layers/:layer/count/": [{}, { query: "precise=1" }, { kind: "virtual" }],
  "GET P/:map/layers/:layer/objects/": [
    { query: everywhere.all },
    { query: "fields=*&f=fjson&limit=5&sort=c,d", kind: "virtual" },
    { query: "fields=*&format=geojson" },
  ],
  "POST P/:map/layers/:layer/filter/": [{ body: { fields: "c,n", fcode: "c", fval: "x" } }],
  "POST P/:map/layers/:layer/objects/bulk/": [
    { body: [{ op: "create", fields: { c: "x", n: 2 }, geom: geometry }] },
  ],
  "POST P/:map/layers/:layer/objects/:object/split/": [{ body: { line } }],
  "POST P/:map/layers/:layer/objects/merge/": [{ body: { ids: "$ids" } }],
  "POST P/:map/layers/:layer/objects/": [{ body: { fields: { c: "x" }, geom: geometry } }],
  "GET P/:map/layers/:layer/objects/:object/": [
    {},
    { query: "returnGeom=1&f=fjson", kind: "virtual" },
    { query: "f=pdf" },
  ],
  "PUT P/:map/layers/:layer/objects/:object/": [{ body: { fields: { c: "y", n: 2 }, geom: null } }],
  "DELETE P/:map/layers/:layer/objects/:object/": [{}],
  "DELETE P/:map/folders/:folder/": [{ body: { parent_id: 0 } }],
  "GET P/:map/identify/": [{ query: "point=0,0&zoom=3&fields=*&returnGeom=1&tolerance=64" }],
  "GET P/:map/search/": [{ query: "phrase=x&lang=en" }],
  "PUT P/:map/search/settings/": [
    { body: [] },
    { body: [{ layer: "$layer", search_column: "c", name_column: "c" }] },
  ],
};

const prefix = /^\/api\/2\.8\/:project/;
/** Tiles have answers of their own, also those of previews, and the history of a layer is there for a while after it. */
const isMeant = ({ methods, path, description }: Operation) =>
  description.tag !== "Tiles" &&
  /:(map|file)\b/.test(path) &&
  !path.endsWith("/preview/") &&
  !(methods.includes("GET") && path.includes("/history/"));

/** Every request that names a map or a file, in each of its forms. */
export const cases: readonly Case[] = apiRoutes.filter(isMeant).flatMap(({ methods, path }) =>
  methods.flatMap((method) => {
    const key = `${method} ${path.replace(prefix, "P").replace(/\/?$/, "/")}`;
    const line = endpoints[key];
    if (!line) throw new Error(`${key} is not in the table of rights`);
    return (wishes[key] ?? [{ query: line.query, body: line.body }]).map((wish, index) => ({
      name: index === 0 ? key : `${key}, ${index + 1}`,
      method,
      path,
      wish,
      // The layer has a visualization; one that is refreshed is materialized.
      ok: wishes[key] ? 200 : (line.ok ?? 200),
    }));
  }),
);
