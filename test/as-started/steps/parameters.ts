import { zipOf } from "../../support/zip.js";
import { collection, feature, point, project, type Step, type World } from "../world.js";

/** What operations take besides what other steps give them: boxes and coordinates, what a file is to have, how one is read. */

const shapes = "shapes/layers/shapes";
/** 200 corners around 10° north and east. */
const ring = Array.from({ length: 201 }, (_, at) => {
  const turn = ((at % 200) * Math.PI) / 100;
  return [10 + Math.cos(turn), 10 + Math.sin(turn)];
});
const disc = { type: "Polygon", coordinates: [ring] };
const metres = { x: 1_113_194.908, y: 1_118_889.975 };
const isNear = (found: number, wanted: number) => Math.abs(found - wanted) < 0.01;

const importInto = (world: World, body: string | Buffer, name: string, query: string) =>
  world.api("POST", `${shapes}/import/?${query}`, {
    body: Buffer.from(body),
    headers: { "x-filename": name },
  });

/** Map `shapes`, with a disc and a point. */
export const parameterSteps: readonly Step[] = [
  {
    name: "geometry in metres, simplified, as a place or a box",
    walk: async (t, world) => {
      await world.makeMap("shapes", "shapes");
      await world.api("POST", `${shapes}/structure/`, { body: { code: "name", type: "string" } });
      const shape = "returnGeom=1&geomSR=3857&geomZoom=2&returnCentroid=1&returnBbox=1&bboxSR=3857";
      const disks = `${shapes}/objects/`;
      const made = await world.api("POST", `${disks}?${shape}`, {
        body: { fields: { name: "disc" }, geom: { ...disc, coordinates: [ring.map(inMetres)] } },
      });
      const { id } = made.json;
      for (const { json } of [
        made,
        await world.api("GET", `${disks}${id}/?${shape}`),
        await world.api("PUT", `${disks}${id}/?${shape}`, { body: { fields: { name: "Disc" } } }),
      ]) {
        t.equal(json.geom.type, "Point");
        t.ok(Math.abs(json.geom.coordinates[0] - metres.x) < 2_000, `${json.geom.coordinates}`);
        t.ok(isNear(json.bbox.ne[1] - json.bbox.sw[1], 222_638.982), "a box in metres");
      }
      const [listed] = (await world.api("GET", `${disks}?${shape}&fields=name&fcode=name&fval=Disc`)).json;
      t.match(listed, { id, geom: { type: "Point" } });
      const corners = async (query: string) =>
        (await world.api("GET", `${disks}${id}/geom/${query}`)).json.coordinates[0].length;
      t.equal(await corners(""), 201);
      t.ok((await corners("?geomZoom=2&geomSR=3857")) < 20);
      const spot = [{ op: "create", fields: { name: "spot" }, geom: point(metres.x, metres.y) }];
      const [{ id: second }] = (await world.api("POST", `${disks}bulk/?geomSR=3857`, { body: spot })).json;
      await world.api("PUT", `${disks}${second}/geom/?geomSR=3857`, { body: point(metres.x, metres.y) });
      const [x, y] = (await world.api("GET", `${disks}${second}/geom/`)).json.coordinates;
      t.ok(isNear(x, 10) && isNear(y, 10), `${x}, ${y}`);
      // The pieces are a disc again.
      const cut = { type: "LineString", coordinates: [inMetres([10.4, 8]), inMetres([10.4, 12])] };
      const { ids } = (await world.api("POST", `${disks}${id}/split/?geomSR=3857`, { body: { line: cut } }))
        .json;
      t.equal(ids.length, 2);
      const merged = (await world.api("POST", `${disks}merge/`, { body: { ids } })).json;
      t.same(merged, { id, deleted: [ids[1]] });
      const found = await world.api("GET", `${disks}?fields=name&format=geojson&returnGeom=1`);
      t.match(found.json, { type: "FeatureCollection", features: [{ properties: { name: "Disc" } }, {}] });
      const box = "bboxSR=3857&fbbox=1100000,1100000,1120000,1120000";
      t.equal((await world.api("GET", `${disks}?${box}`)).json.length, 2);
      const { json } = await world.api("GET", `${shapes}/bbox/?bboxSR=3857`);
      t.ok(isNear(json.ne[1], metres.x + 111_319.491), "the layer's box");
    },
  },
  {
    name: "what is at a place, of chosen layers",
    walk: async (t, world) => {
      const { id } = (await world.api("GET", `${shapes}/`)).json;
      const shape = "returnGeom=1&geomSR=3857&geomZoom=2&returnBbox=1&bboxSR=3857";
      const there = `shapes/identify/?point=10,10&zoom=5&tolerance=20&${shape}`;
      const both = (await world.api("GET", `${there}&layers=${id}`)).json;
      t.equal(both.length, 2);
      t.ok(both.every(({ bbox }: any) => bbox.sw[0] > 1_000_000));
      t.equal((await world.api("GET", `${there}&limit=1`)).json.length, 1);
      t.same((await world.api("GET", `${there}&layers=`)).json, []);
      t.equal((await world.api("GET", "trees/search/?phrase=oak&lang=en&limit=1")).json.length, 1);
    },
  },
  {
    name: "a tree with boxes, styles and rights",
    walk: async (t, world) => {
      const all = "returnBbox=1&bboxSR=3857&returnCss=1&with_access=1";
      const [listed] = (await world.api("GET", `shapes/layers/?${all}`)).json;
      t.match(listed, { access: 15, css_style: /polygon-fill/ });
      t.ok(isNear(listed.bbox.ne[1], metres.x + 111_319.491), "its box");
      const layer = await world.api("GET", `${shapes}/?returnBbox=1&with_timestamp=1&with_access=1`);
      t.match(layer.json, { access: 15, bbox: { ne: [11, 11] }, timestamp: Number });
      const { id } = (await world.api("POST", "shapes/folders/", { body: { code: "f" } })).json;
      await world.api("POST", "shapes/folders/", { body: { code: "g", parent_id: id } });
      t.match((await world.api("GET", `shapes/folders/g/?parent_id=${id}`)).json, { code: "g" });
      await world.api("DELETE", "shapes/folders/g/?parent_id=0", { status: 404 });
      t.equal((await world.api("DELETE", `shapes/folders/g/?parent_id=${id}`)).json, true);
      await world.api("DELETE", "shapes/folders/f/");
    },
  },
  {
    name: "what a file is to have",
    walk: async (t, world) => {
      const written = (query: string) => world.api("GET", `${shapes}/export/?${query}`);
      const zip = await written("format=geojson&zip=1");
      t.equal(zip.bytes.toString("latin1", 0, 2), "PK");
      const [spot] = (await world.api("GET", `${shapes}/objects/?fields=name&fcode=name&fval=spot`)).json;
      const one = (await written(`format=geojson&geomSR=3857&feature_ids=${spot.id}`)).json;
      t.equal(one.features.length, 1);
      t.ok(isNear(one.features[0].geometry.coordinates[0], metres.x));
      const box = "fbbox=1100000,1100000,1120000,1120000&bboxSR=3857";
      const filter = `filter=${encodeURIComponent("name = 'spot'")}`;
      t.match((await written(`format=geojson&${box}&${filter}`)).json, { features: { length: 1 } });
      await world.api("PUT", `${shapes}/objects/${spot.id}/`, { body: { fields: { name: "Дуб" } } });
      const csv = await written("format=csv&fields=name&encoding=windows-1251&dialect=comma");
      t.match(new TextDecoder("windows-1251").decode(csv.bytes), /,[\s\S]*Дуб/);
      const { json } = await world.api("GET", `shapes/layers/?type=full`);
      const tiles = `format=mbtiles&base=0&maxzoom=2&q=1&layers=${json[0].id}&${box}`;
      t.match((await world.api("GET", `shapes/export/?${tiles}`)).bytes.toString("latin1", 0, 15), /^SQLite/);
    },
  },
  {
    name: "how a file is read",
    walk: async (t, world) => {
      const names = async () =>
        (await world.api("GET", `${shapes}/objects/?fields=name&sort=name`)).json.map(
          ({ fields }: any) => fields.name,
        );
      // In windows-1251; the second place is none.
      const rows = Buffer.from(
        `name;lon;lat\n\xc5\xeb\xfc;${metres.x};${metres.y}\n\xc8\xe2\xe0;east;0\n`,
        "latin1",
      );
      const whole = "srs=3857&encoding=windows-1251&action=1";
      await importInto(world, rows, "trees.csv", `${whole}&partial=1&dry_run=1`);
      t.same(await names(), ["Disc", "Дуб"], "nothing is changed");
      const done = await importInto(world, rows, "trees.csv", `${whole}&partial=1`);
      t.equal(done.json.import.summary, "Added 1, removed 2.");
      t.same(await names(), ["Ель"], "they are replaced");
      const [tree] = (await world.api("GET", `${shapes}/objects/?returnGeom=1`)).json;
      t.ok(isNear(tree.geom.coordinates[0], 10), `${tree.geom.coordinates}`);
      const columns = encodeURIComponent('{"name": {"type": "text"}, "age": null}');
      const places = encodeURIComponent('["e", "n"]');
      const chosen = await importInto(
        world,
        "name,age,e,n\nTanne,7,10,11\n",
        "trees.csv",
        `columns=${columns}&coordinates=${places}&dry_run=1`,
      );
      t.match(chosen.json.import.preview, {
        columns: [{ name: "name" }, { name: "age", is_read: false }],
        features: [{ geom: { coordinates: [10, 11] } }],
      });
      const two = await zipOf({
        "oaks.csv": "name;lon;lat\nДуб;10;10\n",
        "elms.csv": "name;lon;lat\nВяз;11;11\n",
      });
      const refused = await world.api("POST", `${shapes}/import/?one_table=1`, {
        body: two,
        headers: { "x-filename": "trees.zip" },
        status: 500,
      });
      t.match(refused.json.data.tables, [{ name: "oaks" }, { name: "elms" }]);
      const elms = await importInto(world, two, "trees.zip", "table=elms&dry_run=1");
      t.equal(elms.json.import.features, 1);
      await world.api("POST", "shapes/layers/", { body: { code: "oaks" } });
      const both = await world.api(
        "POST",
        `${shapes}/import/?table=elms&async=1&dry_run=1&other_tables=${encodeURIComponent('{"oaks": "oaks"}')}`,
        { body: two, headers: { "x-filename": "trees.zip" }, status: 202 },
      );
      t.match(both.json.others, [{ layer: "oaks", table: "oaks" }]);
      const more = collection(feature({ name: "Ель" }, point(1, 2)), feature({ name: "Дуб" }, null));
      const merged = await importInto(world, JSON.stringify(more), "more.geojson", "key=name&action=2");
      t.equal(merged.json.import.summary, "Added 1, changed 1.");
      t.same(await names(), ["Дуб", "Ель"]);
    },
  },
  {
    name: "tiles with all that their addresses take",
    walk: async (t, world) => {
      const css_style = "Map { background-color: #00ff00; }";
      await world.api("PATCH", "spots/", { body: { css_style } });
      const { id } = (await world.api("GET", "spots/layers/spots/")).json;
      const spots = `/tms/${project}/spots`;
      const all = `base=0&background=0&layers=${id}&retina=2&q=1`;
      const tile = async (path: string) => (await world.ask("GET", `${spots}/${path}`)).bytes;
      const first = await tile(`?x=16&y=16&z=5&${all}`);
      t.ok(first.equals(await tile(`5/16/15.png?${all}`)));
      t.ok(first.equals(await tile(`tms/5/16/16.png?${all}`)));
      t.notOk(first.equals(await tile(`5/16/15.png?${all.replace("background=0", "background=1")}`)));
      const json = (await world.ask("GET", `${spots}/tile.json?base=0&q=1&layers=${id}`)).json;
      t.match(json.tiles[0], `layers=${id}`);
      const vector = (await world.ask("GET", `${spots}/tile.mvt.json?layers=${id}`)).json;
      t.match(vector, { vector_layers: [{ id: "spots" }] });
      await world.api("PATCH", "spots/", { body: { css_style: "" } });
    },
  },
];

/** Of degrees. */
function inMetres([lon, lat]: readonly number[]): [number, number] {
  const radius = 6_378_137;
  const radians = (degrees: number) => (degrees * Math.PI) / 180;
  return [radius * radians(lon!), radius * Math.log(Math.tan(Math.PI / 4 + radians(lat!) / 2))];
}
