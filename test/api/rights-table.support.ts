import { blockFont } from "../support/fonts.js";

/**
 * What each route of the product asks of its caller. A new route needs a line here: `rights-table.test.ts` computes from
 * it what every caller is answered, and fails for a route that has none.
 */

/** The right that is asked for; for what is read, whether the public may have it. */
export type Need =
  /** Anybody's; no token is looked at, or a bad one is no error. */
  | "nothing"
  /** Anybody's, but a token that comes must be one of the project. */
  | "good token"
  /** Any user of the project. */
  | "membership"
  | "read"
  /** Reading of pictures and what describes them: what the public may see, nobody is refused. */
  | "look"
  /** Reading for which the contract wants a token. */
  | "read with token"
  | "edit objects"
  | "edit structure"
  | "administer"
  /** A session of any project. */
  | "session"
  /** To be an operator of the installation, as the administrator is here. */
  | "operate";

/** What the rights count on; default: the layer of the path, else its map, else the project. */
export type Place = "project" | "map" | "layer";

/** Things of a test's own, made for one request. */
export interface Makers {
  /** A code that nothing has yet. */
  code(): string;
  map(): Promise<string>;
  folder(): Promise<string>;
  layer(): Promise<string>;
  column(): Promise<string>;
  object(): Promise<string>;
  /** A square of ten degrees. */
  area(): Promise<string>;
  /** A file at the object that every request has in its path. */
  file(): Promise<string>;
  /** The path of a picture for styles. */
  picture(): Promise<string>;
  /** The path of a font for styles. */
  font(): Promise<string>;
  /** The id of a key that lasts. */
  key(): Promise<string>;
  /** The id of a user. */
  member(): Promise<string>;
  /** The id of an entry in the history of the layer. */
  change(): Promise<string>;
  /** The id of an entry in the history of the structure: a layer that got a name. */
  named(): Promise<string>;
  /** The id of an entry in the bin: a layer that was deleted. */
  deleted(): Promise<string>;
}

export interface Endpoint {
  readonly need: Need;
  readonly on?: Place;
  /** `{map}` stands for the map's code. */
  readonly query?: string;
  /** Sent as JSON, or as the form that it is. */
  readonly body?: unknown;
  /** Parts of the path and body for one request that will succeed, for what can be done only once. */
  readonly fresh?: (make: Makers) => Promise<{ params?: Record<string, string>; body?: unknown }>;
  readonly params?: Readonly<Record<string, string>>;
  /** Status for whom the rights let pass; default 200. */
  readonly ok?: number;
  /** Status for them where a part of the path names nothing, or something of another map; default 404. */
  readonly unknown?: Readonly<Record<string, number>>;
}

const point = { type: "Point", coordinates: [1, 2] };
export const line = {
  type: "LineString",
  coordinates: [
    [3, -1],
    [3, 11],
  ],
};
const file = () => {
  const form = new FormData();
  form.set("field", "f");
  form.set("file", new File(["text"], "a.txt"));
  return form;
};

const svg = () => {
  const form = new FormData();
  const text = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><path d="M0 0h8v8z"/></svg>';
  form.set("file", new File([text], "a.svg"));
  return form;
};
const font = () => {
  const form = new FormData();
  form.set("file", new File([new Uint8Array(blockFont({ family: "Any" }))], "a.otf"));
  return form;
};
/** Of no files. */
const archive = () => {
  const form = new FormData();
  form.set("file", new File([new Uint8Array([0x50, 0x4b, 5, 6, ...new Array(18).fill(0)])], "a.zip"));
  return form;
};

/** By method and path as in the route table, `P` for what all paths of a version of the contract begin with. */
export const endpoints: Readonly<Record<string, Endpoint>> = {
  "GET /health/live": { need: "nothing" },
  "GET /health/ready": { need: "nothing" },
  "GET /metrics": { need: "nothing" },
  "GET /openapi.json": { need: "nothing" },
  "GET /api/2.8/": { need: "nothing" },

  "GET /installation/": { need: "session" },
  "GET /installation/projects/": { need: "operate" },
  "POST /installation/projects/": {
    need: "operate",
    body: { code: "elsewhere", administrator: "any" },
    fresh: async ({ code }) => ({ body: { code: code(), administrator: "any" } }),
  },
  "PATCH /installation/projects/:code/": {
    need: "operate",
    params: { code: "elsewhere" },
    body: { name: "E" },
  },
  "GET /installation/state/": { need: "operate" },

  "GET /": { need: "nothing" },
  "GET /embed": { need: "nothing" },
  "GET /console/": { need: "nothing" },
  "GET /console/:code/": { need: "nothing", params: { code: "p" } },
  "GET /favicon.ico": { need: "nothing" },
  "GET /viewer/maps.json": { need: "good token", query: "project=p" },
  "GET /viewer/:build/:file": { need: "nothing", params: { build: "any", file: "app.js" } },
  "GET /viewer/:build/:folder/:file": {
    need: "nothing",
    params: { build: "any", folder: "images", file: "layers.png" },
  },

  "GET /tms/:project/:map/": { need: "look", query: "x=0&y=0&z=0" },
  "GET /tms/:project/:map/:z/:x/:tile": {
    need: "look",
    params: { z: "0", x: "0", tile: "0.png" },
    unknown: { z: 400, x: 400, tile: 400 },
  },
  "GET /tms/:project/:map/tms/:z/:x/:tile": {
    need: "look",
    params: { z: "0", x: "0", tile: "0.png" },
    unknown: { z: 400, x: 400, tile: 400 },
  },
  "GET /tms/:project/:map/tms/tilemapresource.xml": { need: "look" },
  "GET /tms/:project/:map/tile.json": { need: "look" },
  "GET /tms/:project/:map/changes/": { need: "look" },
  "GET /tms/:project/:map/tile.mvt.json": { need: "look" },

  "POST P/login/": { need: "nothing", body: { user: "viewer", pass: "viewerviewer" } },
  "POST P/ext-login/": { need: "nothing", query: "token=x.y.z", ok: 403 },
  "POST P/ext-auth/": { need: "edit objects", body: { login: "viewer" } },
  "POST P/logout/": { need: "membership" },
  "GET P/authorized/": { need: "nothing" },
  "GET P/users/list/": { need: "administer" },

  /** In older versions: the initial settings of a map. */
  "GET P/": { need: "read", on: "map", query: "map_code={map}" },
  "POST P/": { need: "edit structure", fresh: async ({ code }) => ({ body: { code: code() } }) },
  "GET P/maps/available/": { need: "membership" },
  "GET P/maps/public/": { need: "administer" },
  "GET P/pictures/": { need: "administer" },
  "POST P/pictures/": { need: "administer", body: archive() },
  "PUT P/pictures/:path*": { need: "administer", params: { path: "a/b.svg" }, body: svg() },
  "DELETE P/pictures/:path*": {
    need: "administer",
    params: { path: "a/none.svg" },
    fresh: async ({ picture }) => ({ params: { path: await picture() } }),
  },
  "GET P/fonts/": { need: "administer" },
  "PUT P/fonts/:path*": { need: "administer", params: { path: "a/b.otf" }, body: font() },
  "DELETE P/fonts/:path*": {
    need: "administer",
    params: { path: "a/none.otf" },
    fresh: async ({ font }) => ({ params: { path: await font() } }),
  },
  "GET P/:map/history/": { need: "read with token" },
  "GET P/:map/layers/:layer/history/": { need: "edit objects" },
  "GET P/:map/layers/:layer/objects/:object/history/": { need: "edit objects" },
  "POST P/:map/layers/:layer/history/:entry/undo/": {
    need: "edit objects",
    params: { entry: "999999999" },
    fresh: async ({ change }) => ({ params: { entry: await change() } }),
  },
  "GET P/history/": { need: "administer" },
  "POST P/history/:entry/undo/": {
    need: "edit structure",
    on: "project",
    params: { entry: "999999999" },
    fresh: async ({ named }) => ({ params: { entry: await named() } }),
  },
  "GET P/bin/": { need: "membership" },
  "POST P/bin/:entry/restore/": {
    need: "edit structure",
    on: "project",
    params: { entry: "999999999" },
    fresh: async ({ deleted }) => ({ params: { entry: await deleted() } }),
  },
  "DELETE P/bin/:entry/": {
    need: "edit structure",
    on: "project",
    params: { entry: "999999999" },
    fresh: async ({ deleted }) => ({ params: { entry: await deleted() } }),
  },
  "DELETE P/bin/": { need: "administer" },
  "GET P/keys/": { need: "administer" },
  "POST P/keys/": { need: "administer", body: { name: "any" } },
  "DELETE P/keys/:id/": {
    need: "administer",
    params: { id: "999999999" },
    fresh: async ({ key }) => ({ params: { id: await key() } }),
  },
  "GET P/members/": { need: "administer" },
  "POST P/members/": {
    need: "administer",
    body: { login: "any", password: "correct-horse" },
    fresh: async ({ code }) => ({ body: { login: code(), password: "correct-horse" } }),
  },
  "PATCH P/members/:member/": { need: "administer", params: { member: "0" }, body: { grants: [] } },
  "DELETE P/members/:member/": {
    need: "administer",
    params: { member: "999999999" },
    fresh: async ({ member }) => ({ params: { member: await member() } }),
  },
  "POST P/members/:member/invitation/": {
    need: "administer",
    params: { member: "999999999" },
    fresh: async ({ member }) => ({ params: { member: await member() } }),
  },
  "POST P/invitation/": { need: "nothing", body: { invitation: "x", password: "correct-horse" }, ok: 403 },
  "GET P/:map/": { need: "read" },
  "PUT P/:map/": { need: "administer", body: {} },
  "PATCH P/:map/": { need: "administer", body: { name: "Map" } },
  "DELETE P/:map/": { need: "administer", fresh: async (make) => ({ params: { map: await make.map() } }) },
  "POST P/:map/publish/": { need: "edit structure", body: [] },

  "POST P/:map/folders/": { need: "edit structure", body: {} },
  "GET P/:map/folders/:folder/": { need: "read with token" },
  "PUT P/:map/folders/:folder/": { need: "edit structure", body: { parent_id: 0 } },
  "PATCH P/:map/folders/:folder/": { need: "edit structure", body: { parent_id: 0 } },
  "DELETE P/:map/folders/:folder/": {
    need: "edit structure",
    body: { parent_id: 0 },
    fresh: async ({ folder }) => ({ params: { folder: await folder() } }),
  },

  "GET P/:map/layers/": { need: "read" },
  "POST P/:map/layers/": { need: "edit structure", body: {} },
  "GET P/:map/layers/:layer/": { need: "read" },
  "PUT P/:map/layers/:layer/": { need: "edit structure", body: { parent_id: 0 } },
  "PATCH P/:map/layers/:layer/": { need: "edit structure", body: { parent_id: 0 } },
  "DELETE P/:map/layers/:layer/": {
    need: "edit structure",
    fresh: async ({ layer }) => ({ params: { layer: await layer() } }),
  },
  "POST P/:map/layers/:layer/copy/": { need: "edit structure", body: {} },
  "GET P/:map/layers/:layer/bbox/": { need: "read" },
  // The layer that is asked for has no visualization, nor is it materialized.
  "GET P/:map/layers/:layer/legend/": { need: "look", ok: 404 },
  "POST P/:map/layers/:layer/refresh/": { need: "read with token", ok: 500 },
  "PUT P/:map/layers/:layer/visualization/": {
    need: "edit structure",
    body: { visualSettings: { type: 2, columnCode: "c" } },
  },
  "DELETE P/:map/layers/:layer/visualization/": { need: "edit structure" },
  // No server is at the address: only who may is told so.
  "POST P/link/": {
    need: "edit structure",
    on: "project",
    body: { url: "http://127.0.0.1:1/a.csv" },
    ok: 500,
  },
  "POST P/:map/layers/:layer/preview/": {
    need: "edit structure",
    query: "z=0&x=0&y=0",
    body: { css_style: "#x { line-width: 2; }" },
  },
  "PUT P/:map/layers/:layer/vector/": { need: "edit structure", body: { vectorSettings: {} } },
  "DELETE P/:map/layers/:layer/vector/": { need: "edit structure" },
  "GET P/:map/layers/:layer/icon/": { need: "look" },

  "GET P/:map/layers/:layer/structure/": { need: "read" },
  "POST P/:map/layers/:layer/structure/": {
    need: "edit structure",
    fresh: async ({ code }) => ({ body: { code: code(), type: "string" } }),
  },
  "PUT P/:map/layers/:layer/structure/:column/": { need: "edit structure", body: { type: "string" } },
  "PATCH P/:map/layers/:layer/structure/:column/": { need: "edit structure", body: { type: "string" } },
  "DELETE P/:map/layers/:layer/structure/:column/": {
    need: "edit structure",
    fresh: async ({ column }) => ({ params: { column: await column() } }),
  },
  "GET P/:map/layers/:layer/constraints/": { need: "administer" },
  "PUT P/:map/layers/:layer/constraints/": { need: "administer", body: [] },

  "POST P/:map/layers/:layer/import/": {
    need: "edit objects",
    body: { type: "FeatureCollection", features: [] },
  },
  // A job is its user's own: test/transfer/jobs.test.ts has those of others.
  "GET P/:map/layers/:layer/import/:job/": { need: "edit objects", ok: 404 },
  "DELETE P/:map/layers/:layer/import/:job/": { need: "edit objects", ok: 404 },
  "GET P/:map/layers/:layer/export/": { need: "read", query: "format=geojson" },
  "POST P/:map/layers/:layer/export/": { need: "read", body: { format: "geojson" } },
  "POST P/:map/tile-key/": { need: "read with token" },
  "DELETE P/:map/tile-key/": { need: "read with token" },
  "GET P/:map/export/": { need: "read", query: "format=pmtiles&maxzoom=0" },
  "POST P/:map/layers/:layer/makevalid/": { need: "edit objects" },

  "GET P/:map/layers/:layer/count/": { need: "read" },
  "GET P/:map/layers/:layer/objects/": { need: "read" },
  "POST P/:map/layers/:layer/filter/": { need: "read", body: {} },
  "POST P/:map/layers/:layer/objects/bulk/": {
    need: "edit objects",
    body: [{ op: "create", fields: {}, geom: point }],
  },
  "POST P/:map/layers/:layer/objects/:object/split/": {
    need: "edit objects",
    body: { line },
    fresh: async ({ area }) => ({ params: { object: await area() } }),
  },
  "POST P/:map/layers/:layer/objects/merge/": {
    need: "edit objects",
    body: { ids: [987_654_321, 987_654_322] },
    fresh: async ({ object }) => ({ body: { ids: [Number(await object()), Number(await object())] } }),
  },
  "POST P/:map/layers/:layer/objects/": { need: "edit objects", body: { fields: {}, geom: point } },
  "GET P/:map/layers/:layer/objects/:object/": { need: "read", unknown: { object: 200 } },
  "PUT P/:map/layers/:layer/objects/:object/": { need: "edit objects", body: { fields: {} } },
  "DELETE P/:map/layers/:layer/objects/:object/": {
    need: "edit objects",
    fresh: async ({ object }) => ({ params: { object: await object() } }),
  },
  "GET P/:map/layers/:layer/objects/:object/geom/": { need: "read with token" },
  "PUT P/:map/layers/:layer/objects/:object/geom/": { need: "edit objects", body: point },
  "POST P/:map/layers/:layer/objects/:object/files/": {
    need: "edit objects",
    body: file(),
  },
  "GET P/:map/layers/:layer/objects/:object/files/": { need: "read" },
  "GET P/:map/layers/:layer/objects/:object/files/:file/": { need: "read" },
  "DELETE P/:map/layers/:layer/objects/:object/files/:file/": {
    need: "edit objects",
    query: "field=f",
    fresh: async (make) => ({ params: { file: await make.file() } }),
  },
  "GET P/image/:file/": { need: "look", on: "layer", unknown: { file: 404 } },

  "GET P/:map/identify/": { need: "read", query: "point=0,0&zoom=3" },
  "GET P/:map/search/": { need: "read", query: "phrase=x" },
  "GET P/:map/search/settings/": { need: "administer" },
  "PUT P/:map/search/settings/": { need: "administer", body: [] },
};
