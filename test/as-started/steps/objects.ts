import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SignJWT } from "jose";
import sharp from "sharp";
import { login, password, point, project, type Step } from "../world.js";

/** The catalogue and its objects: sessions, maps, layers, columns, objects, files, search. */

const T = "trees/layers/trees";

/** Map `trees`, whose layer has two objects; the first has a file. */
export const objectSteps: readonly Step[] = [
  {
    name: "sessions",
    also: true,
    walk: async (t, world) => {
      t.equal((await world.api("GET", "authorized/")).json, true);
      t.same((await world.api("GET", "users/list/")).json, [login]);
      await world.mapwright(
        ["user", "add", "bob", "--project", project, "--role", "editor"],
        "battery-staple\n",
      );
      const { token } = (await world.api("POST", "ext-auth/", { body: { login: "bob" } })).json;
      await world.api("POST", "logout/", { body: { token }, headers: { "x-token": token } });
      await world.ask("GET", `/api/2.8/${project}/users/list/`, {
        headers: { "x-token": token },
        status: 401,
      });
      const alone = { "x-token": world.token, "x-unattended": "1" };
      t.equal((await world.ask("GET", `/api/2.8/${project}/authorized/`, { headers: alone })).json, true);
      await world.mapwright(["project", "create", "guests"]);
      await world.mapwright(["user", "add", "bob", "--existing", project, "--project", "guests"]);
      const body = { user: "bob", pass: "battery-staple" };
      t.match((await world.ask("POST", "/api/2.8/guests/login/", { body })).json, { token: /./ });
      await world.mapwright(["project", "delete", "guests", "--yes"]);
      // Keys of other issuers lie in the data folder, where the README has them.
      const secret = randomUUID();
      const keys = join(world.at.folder, "data/keys", project);
      await mkdir(keys, { recursive: true });
      await writeFile(join(keys, "partner.secret"), secret);
      const signed = await new SignJWT({ sub: login, aud: project, exp: Math.floor(Date.now() / 1000) + 60 })
        .setProtectedHeader({ alg: "HS256" })
        .sign(Buffer.from(secret));
      const theirs = await world.ask("POST", `/api/2.8/${project}/ext-login/`, { body: { token: signed } });
      t.match(theirs.json.token, /^\S{40,}$/);
    },
  },
  {
    name: "maps, folders and publication",
    walk: async (t, world) => {
      await world.api("POST", "", { body: { code: "draft" } });
      await world.api("PATCH", "draft/", { body: { code: "sketch", name: "Sketch" } });
      await world.api("PUT", "sketch/", { body: {} });
      t.match((await world.api("GET", "sketch/")).json, { code: "sketch", name: "" });
      const codes = (list: { code: string }[]) => list.map(({ code }) => code);
      t.ok(codes((await world.api("GET", "maps/available/")).json).includes("sketch"));
      t.ok(codes((await world.api("GET", "maps/public/")).json).includes("sketch"));
      const folder = (await world.api("POST", "sketch/folders/", { body: { code: "f", name: "F" } })).json;
      const below = { parent_id: 0, name: "G" };
      await world.api("PATCH", "sketch/folders/f/", { body: below });
      await world.api("PUT", "sketch/folders/f/", { body: below });
      t.match((await world.api("GET", "sketch/folders/f/")).json, { code: "f", name: "G" });
      const layer = (await world.api("POST", "sketch/layers/", { body: { code: "l", parent_id: folder.id } }))
        .json;
      t.same(codes((await world.api("GET", "sketch/layers/?type=full")).json), ["f", "l"]);
      await world.api("POST", "sketch/publish/", { body: [{ id: 1, parent_id: 0, map_layer_id: layer.id }] });
      t.same(codes((await world.api("GET", "sketch/layers/")).json), ["l"]);
      const misspelt = await world.api("PATCH", "sketch/", { body: { nmae: "Plan", group_layers: 1 } });
      t.equal(misspelt.headers.get("x-ignored"), "nmae");
      t.match(
        (await world.api("GET", "sketch/layers/?type=publish")).json,
        [{ group_layers: 1 }],
        "one layer",
      );
      await world.api("PUT", "sketch/layers/l/", { body: { parent_id: 0, name: "L" } });
      await world.api("DELETE", "sketch/layers/l/");
      await world.api("DELETE", "sketch/folders/f/");
      await world.api("DELETE", "sketch/");
      await world.api("GET", "sketch/", { status: 404 });
    },
  },
  {
    name: "columns and constraints",
    walk: async (t, world) => {
      await world.makeMap("columns", "l");
      const columns = "columns/layers/l/structure/";
      for (const type of ["number", "string", "text", "datetime", "bool", "file", "json", "title"])
        await world.api("POST", columns, { body: { code: type, type } });
      await world.api("PATCH", `${columns}string/`, { body: { type: "string", name: "String" } });
      await world.api("PUT", `${columns}text/`, { body: { code: "text", type: "string" } });
      await world.api("DELETE", `${columns}title/`);
      const list = (await world.api("GET", columns)).json.map(({ code }: { code: string }) => code);
      t.same(list, ["svc_id", "geom", "number", "string", "text", "datetime", "bool", "file", "json"]);
      const range = [{ type: "range", columns: ["number"], definition: [0, 120] }];
      await world.api("PUT", "columns/layers/l/constraints/", { body: range });
      t.match((await world.api("GET", "columns/layers/l/constraints/")).json, range);
      const wrong = { body: { fields: { number: 121 } }, status: 500 };
      t.match((await world.api("POST", "columns/layers/l/objects/", wrong)).json, {
        code: "constraint_violated",
      });
    },
  },
  {
    name: "objects",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("trees", "trees");
      for (const [code, type] of Object.entries({ species: "string", height: "number", photo: "file" }))
        await world.api("POST", `${T}/structure/`, { body: { code, type } });
      const oak = { fields: { species: "Oak", height: 21 }, geom: point(13.376, 52.514) };
      const { id } = (await world.api("POST", `${T}/objects/`, { body: oak })).json;
      const edits = [
        { op: "create", fields: { species: "Lime", height: 30 }, geom: point(13.378, 52.515) },
        { op: "create", fields: { species: "Elm" }, geom: { type: "Point", coordinates: [] } },
      ];
      const [, elm] = (await world.api("POST", `${T}/objects/bulk/`, { body: edits })).json;
      t.match((await world.api("GET", `${T}/objects/${elm.id}/geom/`)).json, {
        type: "Point",
        coordinates: [],
      });
      await world.api("DELETE", `${T}/objects/${elm.id}/`);
      await world.api("PUT", `${T}/objects/${id}/`, { body: { fields: { height: 22 } } });
      t.match((await world.api("GET", `${T}/objects/${id}/`)).json, {
        fields: { species: "Oak", height: 22 },
      });
      await world.api("PUT", `${T}/objects/${id}/geom/`, { body: point(13.377, 52.514) });
      t.same((await world.api("GET", `${T}/objects/${id}/geom/`)).json, point(13.377, 52.514));
      t.equal((await world.api("GET", `${T}/count/?precise=true`)).json, 2);
      t.equal((await world.api("GET", `${T}/objects/?sort=height&fields=species`)).json.length, 2);
      const chosen = { fields: "species", fcode: "species", fval: "Lime" };
      t.equal((await world.api("POST", `${T}/filter/`, { body: chosen })).json.length, 1);
      t.match((await world.api("GET", `${T}/bbox/`)).json, { sw: [52.514, 13.377] });
      t.match((await world.api("GET", `${T}/`)).json, { code: "trees" });
      t.equal((await world.api("POST", `${T}/makevalid/`)).json.code, "trees");
      const copied = { code: "copied", name: { en: "Copy", de: "Kopie" }, localized_name: true };
      t.equal((await world.api("POST", `${T}/copy/`, { body: copied })).json.code, "copied");
      t.equal((await world.api("GET", "trees/layers/copied/count/?precise=true")).json, 2);
      await world.api("DELETE", "trees/layers/copied/");
      const there = "trees/identify/?point=52.514,13.377&zoom=15&fields=species";
      t.match((await world.api("GET", there)).json, [{ fields: { species: "Oak" }, layer: "trees" }]);
    },
  },
  {
    name: "documents",
    also: true,
    walk: async (t, world) => {
      const { bytes, headers } = await world.api("GET", `${T}/objects/1/?f=pdf`);
      t.equal(headers.get("content-type"), "application/pdf");
      t.match(bytes.subarray(0, 5).toString(), /^%PDF-/);
      t.match((await world.api("GET", `${T}/objects/1/?f=fjson`)).json, { fields: { height: "22" } });
    },
  },
  {
    name: "files and images",
    also: true,
    walk: async (t, world) => {
      const image = await sharp({ create: { width: 64, height: 40, channels: 3, background: "#c04020" } })
        .png()
        .toBuffer();
      const add = async (name: string) => {
        const body = new FormData();
        body.append("field", "photo");
        body.append("file", new Blob([image]), name);
        return (await world.api("POST", `${T}/objects/1/files/`, { body })).json;
      };
      const file = await add("oak.png");
      const spare = await add("spare.png");
      t.equal((await world.api("GET", `${T}/objects/1/files/`)).json.length, 2);
      t.ok((await world.ask("GET", file.path)).bytes.equals(image), "as it was uploaded");
      const small = await world.api("GET", `image/${file.uuid}/?w=32&h=20&fit=cover&f=jpg`);
      t.match(await sharp(small.bytes).metadata(), { format: "jpeg", width: 32, height: 20 });
      await world.api("DELETE", `${T}/objects/1/files/${spare.id}/?field=photo`);
    },
  },
  {
    name: "search",
    also: true,
    walk: async (t, world) => {
      t.match(
        (await world.api("GET", "trees/search/?phrase=oak&lang=en")).json,
        [{ name: "Oak" }],
        "without settings",
      );
      const settings = [{ layer: "trees", search_column: "species", name_column: "species" }];
      await world.api("PUT", "trees/search/settings/", { body: settings });
      t.match((await world.api("GET", "trees/search/settings/")).json, settings);
      t.match((await world.api("GET", "trees/search/?phrase=liem&lang=en")).json, [
        { name: "Lime", priority: 10 },
      ]);
    },
  },
  {
    name: "derived layers",
    walk: async (t, world) => {
      const source = { layer: "trees", filter: "height > 25" };
      await world.api("POST", "trees/layers/", { body: { code: "tall", type: "virtual", source } });
      t.equal((await world.api("GET", "trees/layers/tall/objects/")).json.length, 1);
      await world.api("POST", "trees/layers/", { body: { code: "copy", type: "material", source } });
      await world.api("POST", "trees/layers/copy/refresh/");
      t.equal((await world.api("GET", "trees/layers/copy/objects/")).json.length, 1);
    },
  },
  {
    name: "the older versions",
    walk: async (t, world) => {
      for (const version of ["2.2", "2.0"]) {
        const body = { user: login, pass: password };
        t.match((await world.ask("POST", `/api/${version}/${project}/login/`, { body })).json, {
          token: /./,
        });
        t.match((await world.ask("GET", `/api/${version}/${project}/trees/`)).json, { code: "trees" });
      }
    },
  },
];
