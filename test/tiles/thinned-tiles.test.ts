import sharp from "sharp";
import t from "tap";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Tiles of points that were thinned ahead of time are those of points that are thinned when they are drawn. */

const server = await startServer();
t.teardown(() => server.stop());
const node = server.nodes[0]!;
const marker = "marker-width: 5; marker-line-width: 0.5; marker-allow-overlap: true;";
const styles = {
  plain: `#l { ${marker} marker-fill: #c33; }`,
  "by a column": `#l { ${marker} marker-fill: #c33; [size > 2] { marker-fill: #33c; } [size = 0][zoom >= 6] { marker-fill: #3c3; }
    [name = 'seven'] { text-name: [name]; text-face-name: 'DejaVu Sans Book'; text-allow-overlap: true; } }`,
};
const places = [
  [7.2, 50.1, 3],
  [7.2, 50.1, 6],
  [7.2, 50.1, 7],
  [7.2, 50.1, 9],
] as const;

/** Mean absolute difference of a channel, of 255. */
async function difference(one: Buffer, other: Buffer): Promise<number> {
  const [a, b] = await Promise.all([one, other].map((png) => sharp(png).ensureAlpha().raw().toBuffer()));
  let sum = 0;
  for (let at = 0; at < a!.length; at++) sum += Math.abs(a![at]! - b![at]!);
  return sum / a!.length;
}

for (const [code, [name, css]] of Object.entries(styles).entries()) {
  t.test(`a style that is ${name}`, async (t) => {
    const map = `m${code}`;
    await makeMap(server, map);
    const { id } = await makeStyledLayer(server, map, "l", styles.plain);
    const columns: Record<string, string> = {};
    for (const [code, type] of [
      ["size", "number"],
      ["name", "string"],
    ] as const) {
      const made = await server.api("POST", `${map}/layers/l/structure/`, {
        token: await server.token("editor"),
        body: { code, type },
      });
      t.equal(made.status, 200);
      const { rows } = await server.sql.query(
        "select 'c' || id as name from layer_column where layer_id = $1 and code = $2",
        [id, code],
      );
      columns[code] = rows[0].name;
    }
    await server.sql.query("update layer set geometry_kind = 'Point' where id = $1", [id]);
    await server.sql.query(
      `insert into layers.l${id} (geom, ${columns.size}, ${columns.name})
       select st_setsrid(st_makepoint(7 + random() * 0.4, 50 + random() * 0.2), 4326), n % 5, case when n % 2000 = 7 then 'seven' end
       from generate_series(1, 20500) n`,
    );
    // As an import does it, and as it is done when a layer has grown.
    if (code === 0) await server.sql.query("select generalize_layer($1)", [id]);
    else {
      await server.sql.query(`analyze layers.l${id}`);
      node.services.thinnings.kick();
      await node.services.thinnings.idle();
    }
    await server.sql.query("update node set css_style = $2 where id = $1", [id, css]);
    await node.services.changes.propagate();
    const tiles = () =>
      Promise.all(
        places.map(async ([lon, lat, z]) => {
          const answer = await fetch(tileUrl(server, map, { lon, lat, z }, "&base=0"));
          return Buffer.from(await answer.arrayBuffer());
        }),
      );
    await tiles();
    await node.services.thinnings.idle();
    await node.services.changes.propagate();
    const made = await server.sql.query(
      "select digest, cardinality(bands) as n from thinning where layer_id = $1",
      [id],
    );
    t.equal(made.rows.length, 1 + code);
    t.ok(made.rows.every(({ n }) => n > 4));
    await server.sql.query(
      `insert into layers.l${id} (geom, ${columns.size}) values (st_setsrid(st_makepoint(7.3, 50.1), 4326), 4)`,
    );
    await node.services.changes.propagate();
    const thinned = await tiles();
    await server.sql.query("delete from thinning where layer_id = $1", [id]);
    await node.services.changes.propagate();
    const drawn = await tiles();
    // Where few points share a pixel all are drawn, and where a level tells more rules apart than the tile shows, more of them.
    for (const [place, data] of thinned.entries())
      t.ok((await difference(data, drawn[place]!)) < 1, `zoom ${places[place]![2]}`);
    t.notOk(thinned[3]!.equals(thinned[0]!));
  });
}
