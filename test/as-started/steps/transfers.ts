import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ImportFormat, rasterFormats } from "../../../src/hosts/import-messages.js";
import { sampleOf } from "../../support/import-samples.js";
import { zipOf } from "../../support/zip.js";
import { collection, feature, point, type Step, type World } from "../world.js";

/** Every format that the command line names, in and out. */

const helpOf = async (world: World, command: string): Promise<string> =>
  (await world.mapwright([command, "--help"])).toString().replace(/\s+/g, " ");

const countOf = async (world: World, layer: string): Promise<number> =>
  (await world.api("GET", `${layer}/count/?precise=1`)).json;

const things = collection(
  feature({ name: "Oak", height: 21.5, felled: false }, point(1, 2)),
  feature({ name: "Ель", height: 3, felled: true }, point(3, 4)),
);

/** Formats whose samples have no place, and extensions of those without a value. */
const placeless = new Set<string>(["dBASE table"]);
const valueless = ["dxf", "gpx", "kml", "kmz", "sxf", "xls"];

export const transferSteps: readonly Step[] = [
  {
    name: "import",
    walk: async (t, world) => {
      await world.makeMap("imports", "first");
      const formats = [
        ...(await helpOf(world, "import")).matchAll(/(?:, | file )(\w[\w ]*?) \((\.\w+(?:, \.\w+)*)\)/g),
      ];
      t.ok(formats.length > 15, `${formats.length} formats`);
      const withoutValues: string[] = [];
      for (const [, format = "", extensions = ""] of formats) {
        if (Object.hasOwn(rasterFormats, format)) continue;
        await t.test(`of ${format}`, async (t) => {
          for (const extension of extensions.replaceAll(".", "").split(", ")) {
            await world.makeLayer("imports", extension);
            await world.upload(`imports/layers/${extension}`, sampleOf(format as ImportFormat, extension));
            const list = `imports/layers/${extension}/objects/?fields=*&returnGeom=1`;
            const { json } = await world.api("GET", list);
            t.equal(json.length, 1, extension);
            const [{ fields, geom }] = json;
            if (placeless.has(format)) t.equal(geom, null, extension);
            else
              t.same(
                geom.coordinates.slice(0, 2).map((at: number) => Number(at.toFixed(5))),
                [1, 2],
                extension,
              );
            const value = fields.a ?? fields.A;
            if (value === undefined) withoutValues.push(extension);
            else t.equal(value, 7, extension);
          }
        });
      }
      t.same(withoutValues.sort(), valueless, "the samples of all others have a value");
      await t.test("of an empty geometry", async (t) => {
        const empty = { type: "LineString", coordinates: [] };
        await world.makeLayer("imports", "empty");
        await world.api("POST", "imports/layers/empty/import/", {
          body: collection(feature({ a: 7 }, empty)),
        });
        const { json } = await world.api("GET", "imports/layers/empty/objects/?returnGeom=1");
        t.match(json, [{ geom: empty }]);
      });
    },
  },
  {
    name: "import as a job",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("jobs", "things");
      const body = new FormData();
      body.append("file", new Blob([JSON.stringify(things)]), "things.geojson");
      const job = await world.api("POST", "jobs/layers/things/import/?async=1", { body, status: 202 });
      const address = new URL(job.headers.get("location") ?? "", world.url);
      t.match(address.pathname, /\/import\/[^/]+\/$/);
      let state = job.json;
      while (["waiting", "queued", "running"].includes(state.state))
        state = (await world.ask("GET", address.href, { headers: { "x-token": world.token } })).json;
      t.match(state, { state: "done" }, JSON.stringify(state));
      t.equal(await countOf(world, "jobs/layers/things"), 2);
      t.match((await world.api("DELETE", `jobs/layers/things/import/${job.json.id}/`)).json, {
        id: job.json.id,
      });
    },
  },
  {
    name: "export",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("exports", "things");
      await world.api("POST", "exports/layers/things/import/", { body: things });
      const choices =
        /--format <format> .*?\(choices: ([^)]*)\)/.exec(await helpOf(world, "export"))?.[1] ?? "";
      const formats = [...choices.matchAll(/"(\w+)"/g)].map(([, name]) => name!);
      t.ok(formats.length > 15, `${formats.length} formats`);
      for (const format of formats) {
        // Of images and of tiles: see the rasters.
        if (["geotif", "pmtiles", "mbtiles"].includes(format)) continue;
        await t.test(`to ${format}, which is imported again`, async (t) => {
          const answer = await world.api("GET", `exports/layers/things/export/?format=${format}`);
          const file = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? "";
          await world.makeLayer("exports", format);
          await world.upload(`exports/layers/${format}`, { [file]: answer.bytes });
          const { json } = await world.api("GET", `exports/layers/${format}/objects/?fields=*&returnGeom=1`);
          t.same(
            json.map(({ fields, geom }: any) => [fields.name ?? fields.Name, geom.coordinates]),
            [
              ["Oak", [1, 2]],
              ["Ель", [3, 4]],
            ],
          );
        });
      }
      await t.test("of some objects, by POST", async (t) => {
        const body = { format: "geojson", filter: "height > 10" };
        const { json } = await world.api("POST", "exports/layers/things/export/", { body });
        t.same(
          json.features.map(({ properties }: any) => properties.name),
          ["Oak"],
        );
      });
    },
  },
  {
    name: "import and export with files of the shell's folder",
    also: true,
    walk: async (t, world) => {
      const at = (name: string) => join(world.at.folder, name);
      await world.api("POST", "", { body: { code: "shell" } });
      for (const [name, bytes] of Object.entries(sampleOf("Shapefile", "shp")))
        await writeFile(at(name), bytes);
      const whole = ["--srs", "4326", "--encoding", "utf-8", "--action", "replace"];
      await world.mapwright(["import", "town", "shell", "shape", "data.shp", ...whole]);
      t.equal(await countOf(world, "shell/layers/shape"), 1);
      await writeFile(
        at("two.zip"),
        await zipOf({ "a.csv": "lon,lat\n1,2\n", "b.csv": "lon,lat\n1,2\n3,4\n" }),
      );
      await world.mapwright(["import", "town", "shell", "second", "two.zip", "--table", "b"]);
      t.equal(await countOf(world, "shell/layers/second"), 2);
      await writeFile(at("odd.csv"), "plz,rechts,hoch\n123,1,2\n");
      const said = ["--columns", '{"plz": {"type": "string"}}', "--coordinates", '["rechts", "hoch"]'];
      await world.mapwright(["import", "town", "shell", "odd", "odd.csv", ...said]);
      const [odd] = (await world.api("GET", "shell/layers/odd/objects/?fields=plz&returnGeom=1")).json;
      t.match(odd, { fields: { plz: "123" }, geom: { coordinates: [1, 2] } });
      const piped = (...options: string[]) =>
        world.tried(
          ["import", "town", "shell", "piped", "-", "--format", "geojson", ...options],
          JSON.stringify(things),
        );
      t.equal((await piped()).status, 0);
      const tried = await piped("--key", "name", "--partial", "--dry-run");
      t.match(tried.stdout.toString(), /0 objects added, 2 changed/);
      t.equal(await countOf(world, "shell/layers/piped"), 2);
      // In metres, within a box in metres.
      const metres = ["--srs", "3857", "--bbox", "0,0,400000,400000", "--bbox-srs", "3857", "--ids", "1,2"];
      await world.mapwright(["export", "town", "shell", "piped", "copy.gpkg.zip", "--zip", ...metres]);
      await world.mapwright(["import", "town", "shell", "copy", "copy.gpkg.zip"]);
      const [copied, ...others] = (await world.api("GET", "shell/layers/copy/objects/?returnGeom=1")).json;
      t.same(copied.geom.coordinates.map(Math.round), [1, 2]);
      t.equal(others.length, 0, "the other one is outside");
      const chosen = [
        "--fields",
        "name",
        "--filter",
        "felled = true",
        "--encoding",
        "windows-1251",
        "--dialect",
        "tab",
      ];
      const csv = await world.mapwright([
        "export",
        "town",
        "shell",
        "piped",
        "-",
        "--format",
        "csv",
        ...chosen,
      ]);
      t.match(new TextDecoder("windows-1251").decode(csv), /^2\t"Ель"/m);
      t.notMatch(csv.toString(), /Oak/);
    },
  },
  {
    name: "a copy of a map, layer by layer",
    also: true,
    walk: async (t, world) => {
      const layer = async (map: string) => (await world.api("GET", `${map}/layers/looks/`)).json;
      const css_style = `#looks { marker-fill: #ff0000; marker-width: 40; [height > 10] { marker-fill: #0000ff; } }`;
      await world.makeMap("original", "looks", css_style);
      await world.api("POST", "original/layers/looks/import/", { body: things });
      await world.api("PATCH", "original/layers/looks/", { body: { parent_id: 0, name: "Looks" } });
      await world.api("POST", "", { body: { code: "copied" } });
      const { bytes } = await world.api("GET", "original/layers/looks/export/?format=gpkg");
      const { code, name, css_style: style } = await layer("original");
      await world.api("POST", "copied/layers/", { body: { code, name, css_style: style } });
      await world.upload("copied/layers/looks", { "looks.gpkg": bytes });
      const objects = async (map: string) =>
        (await world.api("GET", `${map}/layers/looks/objects/?fields=*&returnGeom=1`)).json;
      t.same(await objects("copied"), await objects("original"));
      const types = async (map: string) =>
        (await world.api("GET", `${map}/layers/looks/structure/`)).json.map(({ code, type }: any) => [
          code,
          type,
        ]);
      t.same(await types("copied"), await types("original"));
      const here = { lon: 2, lat: 3, z: 6 };
      const drawn = await world.tileAnswer("original", here);
      t.ok((await world.tileAnswer("copied", here)).bytes.equals(drawn.bytes), "it looks the same");
      t.match(await layer("copied"), { name: "Looks" });
      await world.api("DELETE", "original/");
      t.equal((await objects("copied")).length, 2, "and is independent");
    },
  },
];
