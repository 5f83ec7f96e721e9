import { setTimeout as delay } from "node:timers/promises";
import { SignJWT } from "jose";
import type { OperationExample } from "../../src/api/request/examples.js";
import { blockFont } from "../support/fonts.js";
import type { TestServer } from "../support/server.js";
import { zipOf } from "../support/zip.js";

/** Every operation once, as the examples of the API's description have it, in the project `town`. */

export interface ExampleWorld {
  readonly server: TestServer;
  /** With which the project's external tokens are signed. */
  readonly secret: string;
  readonly password: string;
}

interface Given {
  readonly body?: unknown;
  /** The media type of a body that is not JSON. */
  readonly type?: string;
  readonly token?: string | undefined;
}

const address = "https://maps.example.org";

/** By the ids of operations. @throws Error when one is not answered 200 or 202 */
export async function walkOperations({ server, secret, password }: ExampleWorld) {
  const examples: Record<string, OperationExample> = {};
  let token: string | undefined;

  /** @param id undefined = it is no example */
  async function ask(id: string | undefined, request: string, given: Given = {}): Promise<any> {
    const [method = "", path = ""] = request.split(" ");
    const { body, type = "application/json" } = given;
    const key = "token" in given ? given.token : token;
    const sent = body === undefined ? undefined : sentAs(body, type);
    const answer = await fetch(`${server.url}${path.startsWith("/") ? path : `/api/2.8/town/${path}`}`, {
      method,
      headers: {
        ...(key && { "x-token": key }),
        ...(sent !== undefined && !(sent instanceof FormData) && { "content-type": type }),
      },
      ...(sent !== undefined && { body: sent }),
    });
    const text = (await answer.text()).replaceAll(server.url, address);
    if (answer.status !== 200 && answer.status !== 202)
      throw new Error(`${request}: ${answer.status} ${text.slice(0, 500)}`);
    const isJson = answer.headers.get("content-type")?.startsWith("application/json");
    const value = isJson ? JSON.parse(text) : undefined;
    if (id !== undefined)
      examples[id] = {
        ...(body !== undefined && { request: { [type]: shown(body) } }),
        ...(isJson && { answer: value }),
      };
    return value;
  }

  ({ token } = await ask("login", "POST login/", { body: { user: "anna", pass: password } }));
  const signed = new SignJWT({ sub: "anna", aud: "town", exp: Math.floor(Date.now() / 1000) + 3_600 });
  const external = await signed.setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(secret));
  await ask("loginExternally", "POST ext-login/", { body: { token: external }, token: undefined });
  await ask("isAuthorized", "GET authorized/");
  await ask("listUsers", "GET users/list/");
  await ask("authorizeOther", "POST ext-auth/", { body: { login: "boris" } });

  const names = { name: { en: "Trees of the town", ru: "Деревья города" }, localized_name: 1 };
  await ask("createMap", "POST ", { body: { code: "main", ...names } });
  await ask("changeMap_put", "PUT main/", {
    body: { name: "Our trees", localized_name: 0, group_layers: 1 },
  });
  await ask("changeMap_patch", "PATCH main/", {
    body: {
      name: "Trees",
      group_layers: 0,
      start_view: [30.2, 59.85, 30.5, 60],
      base_map: "builtin-muted",
      comment: "All trees in parks.",
    },
  });
  await ask("getMap", "GET main/");
  await ask("listAvailableMaps", "GET maps/available/");
  await ask("listPublicMaps", "GET maps/public/");

  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><circle cx="8" cy="8" r="7"/></svg>';
  await ask("savePicture", "PUT pictures/symbols/tree.svg", { body: svg, type: "image/svg+xml" });
  const more = { file: new File([(await zipOf({ "symbols/bush.svg": svg })) as never], "symbols.zip") };
  await ask("savePictures", "POST pictures/", { body: more, type: "multipart/form-data" });
  await ask("listPictures", "GET pictures/");
  const font = { file: new File([blockFont({ family: "Example Sans" }) as never], "example.otf") };
  await ask("saveFont", "PUT fonts/example.otf", { body: font, type: "multipart/form-data" });
  await ask("listFonts", "GET fonts/");
  await ask("deleteFont", "DELETE fonts/example.otf");
  await ask("deletePicture", "DELETE pictures/symbols/tree.svg");

  const folder = await ask("createFolder", "POST main/folders/", {
    body: { code: "plants", name: "Plants" },
  });
  await ask("changeFolder_put", "PUT main/folders/plants/", {
    body: { parent_id: 0, name: "Green", sort: 1 },
  });
  await ask("changeFolder_patch", "PATCH main/folders/plants/", { body: { parent_id: 0, name: "Plants" } });
  await ask("getFolder", "GET main/folders/plants/");
  const layer = await ask("createLayer", "POST main/layers/", {
    body: {
      code: "trees",
      name: "Trees",
      parent_id: folder.id,
      css_style: "#trees { marker-fill: #2a7f3e; }",
    },
  });
  const structure = "main/layers/trees/structure/";
  await ask("createColumn", `POST ${structure}`, {
    body: { code: "species", type: "string", name: "Species" },
  });
  await ask("createColumn", `POST ${structure}`, {
    body: { code: "height", type: "number", name: "Height, m" },
  });
  await ask("createColumn", `POST ${structure}`, {
    body: { code: "photos", type: "file", name: "Photos" },
  });
  await ask("changeColumn_put", `PUT ${structure}height/`, {
    body: { type: "number", name: "Height", sort: 2 },
  });
  await ask("changeColumn_patch", `PATCH ${structure}height/`, {
    body: { type: "number", name: "Height, m" },
  });
  await ask("listColumns", `GET ${structure}`);
  const constraints = [{ type: "range", name: "no giants", columns: ["height"], definition: [0, 120] }];
  await ask("saveConstraints", "PUT main/layers/trees/constraints/", { body: constraints });
  await ask("listConstraints", "GET main/layers/trees/constraints/");

  const objects = "main/layers/trees/objects/";
  const geom = { type: "Point", coordinates: [13.37, 52.51] };
  const oak = await ask("createObject", `POST ${objects}`, {
    body: { fields: { species: "Oak", height: 21 }, geom },
  });
  const at = `${objects}${oak.id}/`;
  await ask("changeObject", `PUT ${at}`, { body: { fields: { height: 22.5 } } });
  await ask("changeGeometry", `PUT ${at}geom/`, { body: { ...geom, coordinates: [13.38, 52.52] } });
  await ask("getGeometry", `GET ${at}geom/`);
  const lines = [
    { op: "create", fields: { species: "Lime", height: 12 }, geom: { ...geom, coordinates: [13.39, 52.5] } },
    { op: "update", id: oak.id, fields: { height: 23 } },
  ];
  await ask("changeObjects", `POST ${objects}bulk/`, { body: lines });
  const ring = [13.36, 13.37, 13.37, 13.36, 13.36].map((x, at) => [x, at === 2 || at === 3 ? 52.51 : 52.5]);
  const lawn = { fields: {}, geom: { type: "Polygon", coordinates: [ring] } };
  await ask(undefined, "POST main/layers/", { body: { code: "lawns" } });
  const { id: whole } = await ask(undefined, "POST main/layers/lawns/objects/", { body: lawn });
  const cut = [
    [13.363, 52.49],
    [13.363, 52.52],
  ];
  const { ids } = await ask("splitObject", `POST main/layers/lawns/objects/${whole}/split/`, {
    body: { line: { type: "LineString", coordinates: cut } },
  });
  await ask("mergeObjects", "POST main/layers/lawns/objects/merge/", { body: { ids } });
  await ask(undefined, "DELETE main/layers/lawns/");
  await ask("getObject", `GET ${at}?fields=*&returnGeom=1`);
  await ask("listObjects", `GET ${objects}?fields=species,height&returnCentroid=1`);
  await ask("countObjects", "GET main/layers/trees/count/");
  await ask("filterObjects", "POST main/layers/trees/filter/", {
    body: { fields: "species,height", filter: "height > 20", sort: "height,d", limit: 10 },
  });
  await ask("identifyObjects", "GET main/identify/?point=52.52,13.38&zoom=14");
  const photo = { field: "photos", file: new File(["a photo"], "oak.txt", { type: "text/plain" }) };
  const file = await ask("attachFile", `POST ${at}files/`, { body: photo, type: "multipart/form-data" });
  await ask("listFiles", `GET ${at}files/?field=photos`);
  await ask("detachFile", `DELETE ${at}files/${file.id}/`, { body: { field: "photos" } });

  await ask("saveSearchSettings", "PUT main/search/settings/", {
    body: [{ layer: "trees", search_column: "species", name_column: "species", priority: 10 }],
  });
  await ask("getSearchSettings", "GET main/search/settings/");
  await ask("search", "GET main/search/?phrase=oak&lang=en");
  await ask("saveVisualization", "PUT main/layers/trees/visualization/", {
    body: { visualSettings: { type: 2, columnCode: "species" } },
  });
  await ask("getLegend", "GET main/layers/trees/legend/");
  await ask("previewLayer", "POST main/layers/trees/preview/?z=10&x=550&y=687", {
    body: { css_style: "#trees { marker-fill: #c0392b; marker-width: 12; }" },
  });
  // What this server itself has stands for a file of another one.
  await ask("fetchLink", "POST link/", {
    body: { url: `${server.url}/tms/town/main/tile.json`, map: "main" },
  });
  examples.fetchLink = {
    request: { "application/json": { url: "https://data.example.org/trees.csv", map: "main" } },
  };
  await ask("deleteVisualization", "DELETE main/layers/trees/visualization/");
  await ask("saveVectorSettings", "PUT main/layers/trees/vector/", {
    body: {
      vectorSettings: {
        minZoom: 10,
        maxZoom: 18,
        zoomsEnabled: true,
        showPopup: true,
        popupColumnCode: "species",
      },
    },
  });
  await ask("deleteVectorSettings", "DELETE main/layers/trees/vector/");
  const tall = { code: "tall", type: "material", source: { layer: "trees", filter: "height > 20" } };
  await ask(undefined, "POST main/layers/", { body: tall });
  await ask("refreshLayer", "POST main/layers/tall/refresh/");
  await ask(undefined, "DELETE main/layers/tall/");
  await ask("copyLayer", "POST main/layers/trees/copy/", { body: { code: "trees_2", name: "Trees (copy)" } });
  await ask(undefined, "DELETE main/layers/trees_2/");
  await ask("repairLayer", "POST main/layers/trees/makevalid/");
  await ask("changeLayer_put", "PUT main/layers/trees/", { body: { parent_id: 0, name: "Trees", sort: 1 } });
  await ask("changeLayer_patch", "PATCH main/layers/trees/", {
    body: { parent_id: 0, css_style: "#trees [height > 20] { marker-fill: #14532d; }" },
  });
  await ask("getLayer", "GET main/layers/trees/");
  await ask("getLayerBox", "GET main/layers/trees/bbox/");
  await ask("getLayerTree", "GET main/layers/");
  await ask("savePublicationTree", "POST main/publish/", {
    body: [{ id: 1, parent_id: 0, map_layer_id: layer.id, selected: true }],
  });
  await ask("getTileJson", "GET /tms/town/main/tile.json");
  await ask("getVectorTileJson", "GET /tms/town/main/tile.mvt.json");
  await ask("makeTileKey", "POST main/tile-key/", { body: { seconds: 3_600 } });
  await ask("endTileKeys", "DELETE main/tile-key/");
  const { entries: changes } = await ask(
    "listLayerHistory",
    "GET main/layers/trees/history/?limit=2&values=1",
  );
  await ask("listMapHistory", "GET main/history/?limit=2");
  await ask("listObjectHistory", `GET main/layers/trees/objects/${changes[0].object}/history/?limit=2`);
  await ask("undoChange", `POST main/layers/trees/history/${changes[0].id}/undo/`, { body: { group: 1 } });
  await ask("createLayer", "POST main/layers/", { body: { code: "benches" } });
  await ask("deleteLayer", "DELETE main/layers/benches/");
  const { entries: changed } = await ask("listProjectHistory", "GET history/?limit=2&values=1&kind=map");
  await ask("undoStructureChange", `POST history/${changed[0].id}/undo/`);
  const { entries } = await ask("listBin", "GET bin/");
  await ask("restoreFromBin", `POST bin/${entries[0].id}/restore/`, { body: { code: "seats" } });
  await ask("deleteLayer", "DELETE main/layers/seats/");
  await ask("deleteFromBin", `DELETE bin/${(await ask("listBin", "GET bin/")).entries[0].id}/`);
  await ask("emptyBin", "DELETE bin/");
  const lasting = { name: "sensors", rights: "edit", map: "main", expires: "2099-01-01T00:00:00Z" };
  const { id: key } = await ask("makeAccessKey", "POST keys/", { body: lasting });
  await ask("listAccessKeys", "GET keys/");
  await ask("endAccessKey", `DELETE keys/${key}/`);
  const { id: member } = await ask("addMember", "POST members/", {
    body: { login: "nina", password: "correct-horse", role: "viewer" },
  });
  await ask("changeMember", `PATCH members/${member}/`, {
    body: { grants: [{ map: "main", layer: "trees", rights: 3 }] },
  });
  await ask("listMembers", "GET members/");
  const { invitation } = await ask("inviteMember", `POST members/${member}/invitation/`);
  await ask("acceptInvitation", "POST invitation/", { body: { invitation, password: "battery-staple" } });
  await ask("removeMember", `DELETE members/${member}/`);

  await ask("installation", "GET /installation/");
  await ask("listProjects", "GET /installation/projects/");
  await ask("addProject", "POST /installation/projects/", {
    body: {
      code: "harbour",
      name: "Harbour",
      languages: ["en", "ru"],
      administrator: "olga",
      most_bytes: 500_000_000,
    },
  });
  await ask("setProject", "PATCH /installation/projects/town/", {
    body: { name: "The town", most_bytes: 2_000_000_000, administrator: "nora" },
  });

  const collection = {
    type: "FeatureCollection",
    features: [{ type: "Feature", properties: { species: "Elm", height: 9 }, geometry: geom }],
  };
  const imported = { body: collection, type: "application/geo+json" };
  const { id: job } = await ask("importData", "POST main/layers/trees/import/?async=1", imported);
  const jobPath = `main/layers/trees/import/${job}/`;
  while ((await ask("getImport", `GET ${jobPath}`)).state === "running") await delay(50);
  await ask("cancelImport", `DELETE ${jobPath}`);
  const { checks, ...now } = await ask(undefined, "GET /installation/state/");
  const known = checks.filter(({ name }: { name: string }) => ["PostgreSQL", "Redis"].includes(name));
  examples.installationState = { answer: { checks: known, ...now } };
  await ask("importData", "POST main/layers/trees/import/", imported);
  await ask("exportObjects", "POST main/layers/trees/export/", {
    body: { format: "geojson", filter: "height > 10" },
  });

  await ask("deleteObject", `DELETE ${at}`);
  await ask("deleteColumn", `DELETE ${structure}photos/`);
  await ask("deleteLayer", "DELETE main/layers/trees/");
  await ask("deleteFolder", "DELETE main/folders/plants/", { body: { parent_id: 0 } });
  await ask("deleteMap", "DELETE main/");
  await ask("start", "GET /api/2.8/");
  await ask("isLive", "GET /health/live");
  await ask("isReady", "GET /health/ready");
  await ask("logout", "POST logout/");
  return examples;
}

function sentAs(body: unknown, type: string): string | FormData {
  if (type !== "multipart/form-data") return typeof body === "string" ? body : JSON.stringify(body);
  const form = new FormData();
  for (const [name, value] of Object.entries(body as Record<string, string | Blob>)) form.append(name, value);
  return form;
}

/** A file is shown as its name. */
const shown = (body: unknown): unknown =>
  typeof body !== "object" || body === null || Array.isArray(body)
    ? body
    : Object.fromEntries(
        Object.entries(body).map(([name, value]) => [name, value instanceof File ? value.name : value]),
      );
