import { randomUUID } from "node:crypto";
import sharp from "sharp";
import { collection, feature, point, type Step } from "../world.js";

/** Layers that are drawn by the values of their objects. */

const here = { lon: 10, lat: 10, z: 5 };
/** A tile at the same place, by its numbers from the south. */
const fromSouth = "z=5&x=16&y=16&base=0";

/** Map `looks`, with sixteen points. */
export const visualizationSteps: readonly Step[] = [
  {
    name: "visualizations",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("looks", "points");
      const points = Array.from({ length: 16 }, (_, at) =>
        feature(
          { n: at * at, a: 10 + at, b: 20 - at, kind: ["Oak", "Ash", "Elm"][at % 3], turn: at * 20 },
          point(6 + (at % 4) * 1.2, 6 + Math.floor(at / 4) * 1.2),
        ),
      );
      await world.api("POST", "looks/layers/points/import/", { body: collection(...points) });
      const columns = (await world.api("GET", "looks/layers/points/structure/")).json;
      const turn = columns.find(({ code }: { code: string }) => code === "turn").id;
      const uuid = randomUUID();
      const charted = { columns: [{ code: "a" }, { code: "b" }] };
      const visual = (settings: object) => ({ visualSettings: settings });
      const plain = (await world.tileAnswer("looks", here)).bytes;
      const { id } = (await world.api("GET", "looks/layers/points/")).json;
      const more = `background=1&layers=${id}&retina=1&q=0`;
      for (const [name, body] of Object.entries({
        "1 thematic": visual({ type: 1, columnCode: "n" }),
        "2 categories": visual({ type: 2, columnCode: "kind" }),
        "3 bubbles": visual({ type: 3, columnCode: "n" }),
        "4 pies": visual({ type: 4, classesSettings: charted }),
        "5 bars": visual({ type: 5, classesSettings: charted }),
        "6 lines": visual({ type: 6, classesSettings: charted }),
        "7 heat map": visual({ type: 7, classesSettings: { markerSize: 40 } }),
        "8 clusters": visual({ type: 8 }),
        "the plug-in arrows": {
          visualCustomSettings: { type: "arrows", columns: { [uuid]: turn }, settings: { direction: uuid } },
        },
      }))
        await t.test(name, async (t) => {
          const dry = await world.api("PUT", "looks/layers/points/visualization/?dry_run=1", { body });
          t.ok(dry.json.visualSettings ?? dry.json.visualCustomSettings, "it is answered as it would be");
          t.ok((await world.tileAnswer("looks", here)).bytes.equals(plain), "and not saved");
          const tried = await world.api("POST", `looks/layers/points/preview/?${fromSouth}&${more}`, {
            body,
          });
          t.match(await sharp(tried.bytes).metadata(), { format: "png", width: 256 });
          await world.api("PUT", "looks/layers/points/visualization/", { body });
          const tile = await world.tileAnswer("looks", here);
          t.notOk(tile.bytes.equals(plain), "it is drawn in place of the style");
          t.ok((await world.tile("looks", here)).painted > 100);
          const { json } = await world.api("GET", "looks/layers/points/legend/?extended=1");
          t.ok(json.classificators.length > 0, "it has a legend");
          const icon = await world.ask("GET", `${json.classificators[0].icon}&size=48`);
          t.match(await sharp(icon.bytes).metadata(), { width: 48 });
          await world.api("DELETE", "looks/layers/points/visualization/");
          t.ok((await world.tileAnswer("looks", here)).bytes.equals(plain), "and the style again without it");
        });
      const vectorSettings = { showPopup: true, popupColumnCode: "kind" };
      t.match((await world.api("PUT", "looks/layers/points/vector/", { body: { vectorSettings } })).json, {
        render_type: 1,
      });
      await world.api("DELETE", "looks/layers/points/vector/");
    },
  },
  {
    name: "thematic maps by a palette, with classes of each kind",
    also: true,
    walk: async (t, world) => {
      const settings = (palette: string, more: object) => ({
        body: { type: 1, columnCode: "n", classesSettings: { palette }, ...more },
      });
      const save = async (palette: string, more: object = {}) => {
        const path = "looks/layers/points/visualization/";
        return (await world.api("PUT", path, settings(palette, more))).json.visualSettings;
      };
      const borders = new Set<string>();
      for (const algorithm of [1, 2, 3]) {
        const saved = await save("YlOrRd", { algorithm, classesCount: 4 });
        t.match(saved, { algorithm, classesCount: 4, classesSettings: { palette: "YlOrRd" } });
        t.equal(saved.classesSettings.borders.length, 5);
        borders.add(saved.classesSettings.borders.join());
        const { classificators } = (await world.api("GET", "looks/layers/points/legend/")).json;
        t.same(
          classificators.map(({ fill }: { fill: string }) => fill),
          ["#ffffb2", "#fecc5c", "#fd8d3c", "#e31a1c"],
          "those of ColorBrewer for four classes",
        );
      }
      t.equal(borders.size, 3, "each algorithm has borders of its own");
      const tile = await world.tileAnswer("looks", here);
      t.match((await save("Blues")).algorithm, /^[123]$/, "without one, the one that suits the values");
      t.notOk((await world.tileAnswer("looks", here)).bytes.equals(tile.bytes));
      const misspelt = await world.api("PUT", "looks/layers/points/visualization/", {
        ...settings("YlOrRed", {}),
        status: 500,
      });
      t.match(misspelt.json, {
        code: "invalid_value",
        data: { fields: { palette: /did you mean YlOrRd\?/ } },
      });
      await world.api("DELETE", "looks/layers/points/visualization/");
    },
  },
];
