import { layerTable } from "../../src/catalog/layer-table.js";
import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import type { LayerNode } from "../../src/catalog/state.js";
import { storeSettings } from "../../src/catalog/stored-settings.js";
import { answerBest, answerQuestion } from "../../src/features/visual-answer.js";
import { makeTally, tallyPlan } from "../../src/features/visual-tally.js";
import type { Database } from "../../src/storage/postgres.js";
import { questionOf } from "../../src/visual/kinds.js";
import { readSettings } from "../../src/visual/settings.js";
import { type Catalogue, withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { fetchOne } from "../fetch.js";
import { mapCode as projectCode } from "../import.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { startServer } from "../server.js";

/**
 * Visualizations: the class borders after an edit, beside a look at all objects, and a cold tile of each kind, beside the same
 * layer in its plain style.
 */

const code = "visuals";
const languages = { own: "en", main: "en" };
/** Of the time, on a machine that has other work too. */
const leastRatio = 2;

export async function visualizations(context: Context): Promise<Row[]> {
  const { world, size } = context;
  return withCatalogue(world, async (catalogue) => {
    const many = await pointsLayer(catalogue, `${code}-many`, size.names);
    return [
      ...(await bordersAfterEdits(context, catalogue.db, many)),
      ...(await coldTiles(context, catalogue, Math.ceil(size.objects / 3))),
    ];
  });
}

/** A map of that code with a layer of so many points around the equator, each with two numbers and one of five words. */
async function pointsLayer({ db, project, map }: Catalogue, name: string, count: number): Promise<LayerNode> {
  const present = await db.query("select from map where project_id = $1 and code = $2", [project.id, name]);
  if (present.length === 0)
    await createLayer(db, await createMap(db, project.id, { code: name }), {
      code,
      geometryKind: "Point",
      columns: [
        { code: "a", type: "number" },
        { code: "b", type: "number" },
        { code: "kind", type: "string" },
      ],
    });
  const layer = (await map(name)).layers.get(code)!;
  const [a, b, kind] = ["a", "b", "kind"].map(
    (one) => layer.columns.find((column) => column.code === one)!.physical,
  );
  const table = layerTable(layer.id);
  await db.execute(`truncate ${table}`);
  await db.execute(
    `insert into ${table} (geom, ${a}, ${b}, ${kind})
     select st_setsrid(st_makepoint(hashint8(i) % 40000 / 1000.0, hashint8(i + 9000000) % 40000 / 1000.0), 4326),
       hashint8(i) % 1000000 / 7.0, abs(hashint8(i + 7000000)) % 1000, (array['oak','ash','lime','elm','pine'])[1 + i % 5]
     from generate_series(1, $1::bigint) i`,
    [count],
  );
  await db.execute(`analyze ${table}`);
  return (await map(name)).layers.get(code)!;
}

const shown = (layer: LayerNode, settings: object): LayerNode => ({
  ...layer,
  visualSettings: readSettings(layer, "visualSettings", settings),
});

async function bordersAfterEdits({ size }: Context, db: Database, layer: LayerNode): Promise<Row[]> {
  const table = layerTable(layer.id);
  const a = layer.columns.find((column) => column.code === "a")!.physical;
  let at = 0;
  const edit = () =>
    db.execute(`update ${table} set ${a} = -${a} where svc_id = (select min(svc_id) from ${table}) + $1`, [
      ++at % 1_000,
    ]);
  const rows: Row[] = [];
  for (const [name, settings] of Object.entries({
    "equal intervals": { type: 1, columnCode: "a", algorithm: 1, classesCount: 7 },
    quantiles: { type: 1, columnCode: "a", algorithm: 2, classesCount: 7 },
    categories: {
      type: 2,
      columnCode: "kind",
      classesSettings: { classes: [{ value: "oak" }, { value: "elm" }] },
    },
  })) {
    const of = shown(layer, settings);
    const question = questionOf(of)!;
    const plan = tallyPlan(of, question)!;
    await makeTally(db, of, plan);
    const timed = (work: () => Promise<unknown>) => async () => {
      const begun = performance.now();
      await edit();
      await work();
      return performance.now() - begun;
    };
    const measured = await compare(
      size,
      timed(() => answerBest(db, of, { question, languages, plan })),
      [timed(() => answerQuestion(db, of, question, languages))],
      [
        {
          measure: `an edit and ${name} of ${size.names.toLocaleString("en")} objects, beside all anew`,
          unit: "ms",
          of: (ms: number) => ms,
          less: true,
          gate: leastRatio,
        },
      ],
    );
    rows.push(...measured);
  }
  return rows;
}

const columns = [{ code: "a" }, { code: "b" }];
const kinds: Readonly<Record<string, object>> = {
  "thematic map": { type: 1, columnCode: "a" },
  categories: { type: 2, columnCode: "kind", classesSettings: { classes: [{ value: "oak" }] } },
  bubbles: { type: 3, columnCode: "a" },
  pies: { type: 4, classesSettings: { columns, sizeType: 2 } },
  bars: { type: 5, classesSettings: { columns } },
  lines: { type: 6, classesSettings: { columns } },
  "heat map": { type: 7 },
};
/** Tiles of a round, in which most of the points lie. */
const zoom = 7;
const tilesOfRound = 4;

async function coldTiles({ world, size }: Context, catalogue: Catalogue, count: number): Promise<Row[]> {
  const { db, map } = catalogue;
  const layer = await pointsLayer(catalogue, `${code}-tiles`, count);
  const server = await startServer(world.config({ redisPrefix: "bench-visuals:" }), world.log);
  try {
    const { id: mapId } = await map(`${code}-tiles`);
    let place = 0;
    const draw = async (settings: object | null) => {
      const stored = settings && readSettings(layer, "visualSettings", settings);
      await storeSettings(db, { mapId, layerId: layer.id }, "visualSettings", stored);
      await world.forgetTiles();
      const path = (at: number) =>
        `/tms/${projectCode}/${code}-tiles/${zoom}/${64 + (at % 4) * 4}/${60 - (at % 3) * 4}.png?base=0`;
      // The statistics are those of the legend, which are there.
      await fetchOne(`${server.url}/tms/${projectCode}/${code}-tiles/0/0/0.png?base=0`);
      const begun = performance.now();
      for (let at = 0; at < tilesOfRound; at++) await fetchOne(server.url + path(place++));
      return (performance.now() - begun) / tilesOfRound;
    };
    const rows: Row[] = [];
    const plan = { rounds: Math.min(5, size.rounds), most: Math.min(5, size.most) };
    for (const [name, settings] of Object.entries(kinds)) {
      const measured = await compare(
        plan,
        () => draw(settings),
        [() => draw(null)],
        [
          {
            measure: `cold tile, ${name} of ${count.toLocaleString("en")} points, beside the plain style`,
            unit: "ms",
            of: (ms: number) => ms,
            less: true,
          },
        ],
      );
      rows.push(...measured);
    }
    return rows;
  } finally {
    await server.stop();
  }
}
