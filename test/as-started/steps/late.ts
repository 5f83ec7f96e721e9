import { join } from "node:path";
import pg from "pg";
import type { Test } from "tap";
import { square } from "../../support/maps.js";
import { point, project, type Step, type World } from "../world.js";
import { tileOfFile } from "./archives.js";

/** What takes seconds: tiles along without a server, and layers that are late. Neither keeps the other waiting. */

const here = { lon: 10, lat: 10, z: 5 };
const tileHere = { z: 5, x: 16, y: 15 };
const labels = `text-name: [name]; text-face-name: "DejaVu Sans Book"; text-size: 20; text-allow-overlap: true;`;

export const lateSteps: readonly Step[] = [
  {
    name: "offline tiles, while a layer is late in identify/",
    walk: async (t, world) => {
      await Promise.all([offlineTiles(t, world), lateLayers(t, world)]);
    },
  },
];

/** Map `along`: an open layer with a label in two languages, over one that the public may not see. */
async function offlineTiles(t: Test, world: World): Promise<void> {
  await world.makeMap("along", "open", `#open { ${labels} }`);
  const columns = "along/layers/open/structure/";
  await world.api("POST", columns, { body: { code: "name", type: "string", localized_value: true } });
  const at = point(here.lon, here.lat);
  const { id } = (
    await world.api("POST", "along/layers/open/objects/", { body: { fields: { name: "Well" }, geom: at } })
  ).json;
  const german = { fields: { name: "Brunnen" } };
  await world.api("PUT", `along/layers/open/objects/${id}/?lng=de`, { body: german });
  const hidden = await world.makeLayer("along", "hidden", "#hidden { polygon-fill: #0000ff; }");
  await world.api("POST", "along/layers/hidden/objects/", { body: { fields: {}, geom: square(8, 8, 4) } });
  const place = ["--project", project, "--map", "along", "--layer", "hidden"];
  await world.mapwright(["grant", "public", ...place, "--rights", "none"]);
  const written = async (file: string, ...options: string[]) => {
    const where = ["--bbox", "9,9,11,11", "--zoom", "5", "--no-base"];
    await world.mapwright(["export", project, "along", file, ...where, ...options]);
    return Buffer.from((await tileOfFile(join(world.at.folder, file), tileHere))!);
  };
  const open = (await world.tileAnswer("along", here, "&lng=de")).bytes;
  t.notOk(open.equals((await world.tileAnswer("along", here)).bytes), "the label is another one");
  const ours = { headers: { "x-token": world.token } };
  const tile = `/tms/${project}/along/5/16/15.png?base=0&layers=${hidden}`;
  const alone = (await world.ask("GET", tile, ours)).bytes;
  t.ok(open.equals(await written("open.pmtiles", "--public", "--langs", "de")), "as the public sees it");
  t.ok(alone.equals(await written("hidden.mbtiles", "--layers", "hidden")), "one layer of the operator's");
}

/** Map `late`: of three layers one is locked and one gone, each as by an operator's SQL. */
async function lateLayers(t: Test, world: World): Promise<void> {
  const ids: Record<string, number> = {};
  await world.api("POST", "", { body: { code: "late" } });
  for (const layer of ["locked", "gone", "quick"]) {
    ids[layer] = await world.makeLayer("late", layer);
    const body = { fields: {}, geom: point(here.lon, here.lat) };
    await world.api("POST", `late/layers/${layer}/objects/`, { body });
  }
  const found = async () => {
    const { json, headers } = await world.api("GET", "late/identify/?point=10,10&zoom=5");
    return {
      layers: json.map(({ layer }: { layer: string }) => layer),
      missing: headers.get("x-tile-incomplete"),
    };
  };
  t.same(await found(), { layers: ["locked", "gone", "quick"], missing: null });
  const { databaseUrl } = JSON.parse(
    (await world.mapwright(["config", "print", "--show-secrets"])).toString(),
  );
  const sql = new pg.Client({ connectionString: databaseUrl });
  await sql.connect();
  try {
    await sql.query(`alter table layers.l${ids.gone} rename to away`);
    await sql.query("begin");
    await sql.query(`lock table layers.l${ids.locked} in access exclusive mode`);
    t.same(await found(), { layers: ["quick"], missing: "locked, gone" });
    await sql.query("rollback");
    await sql.query(`alter table layers.away rename to l${ids.gone}`);
    t.same(await found(), { layers: ["locked", "gone", "quick"], missing: null }, "they are back");
  } finally {
    await sql.end();
  }
}
