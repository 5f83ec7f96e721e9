import { blockFont, dejaVu } from "../../support/fonts.js";
import { zipOf } from "../../support/zip.js";
import { point, type Step } from "../world.js";

/** What styles take from the project and the installation: pictures, icons, fonts. */

const dot = (colour: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><rect width="24" height="24" fill="${colour}"/></svg>`;
/** The icon that the operator has put into `icons` of the data folder. */
export const operatorsIcon = { name: "mine", svg: dot("#0000ff") };

const at = { lon: 10, lat: 10, z: 5 };
const shown = (file: string) => `#spots { marker-file: url(${file}); marker-allow-overlap: true; }`;

export const pictureSteps: readonly Step[] = [
  {
    name: "pictures in styles",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("symbols", "spots");
      await world.api("POST", "symbols/layers/spots/objects/", { body: { fields: {}, geom: point(10, 10) } });
      const put = await world.api("PUT", "pictures/symbols/red.svg", {
        body: Buffer.from(dot("#ff0000")),
        headers: { "content-type": "image/svg+xml" },
      });
      t.match(put.json, { path: "symbols/red.svg", format: "svg", width: 24 });
      const zip = await world.api("POST", "pictures/", {
        body: await zipOf({ "lime.svg": dot("#00ff00"), "spare.svg": dot("#00ff00") }),
        headers: { "content-type": "application/zip" },
      });
      t.same(zip.json.refused, {});
      await world.api("DELETE", "pictures/spare.svg");
      const paths = (await world.api("GET", "pictures/")).json.map(({ path }: { path: string }) => path);
      t.same(paths.sort(), ["lime.svg", "symbols/red.svg"]);
      for (const [file, colour] of [
        ["symbols/red.svg", [255, 0, 0, 255]],
        ["lime.svg", [0, 255, 0, 255]],
        [`icon:${operatorsIcon.name}`, [0, 0, 255, 255]],
        ["icon:square", undefined],
      ] as const) {
        const css_style = shown(file);
        await world.api("PATCH", "symbols/layers/spots/", { body: { parent_id: 0, css_style } });
        if (colour) t.same(await world.colour("symbols", at), colour, file);
        else t.ok((await world.tile("symbols", at)).painted > 0, file);
      }
    },
  },
  {
    name: "fonts in styles",
    also: true,
    walk: async (t, world) => {
      const put = await world.api("PUT", "fonts/math.ttf", {
        body: dejaVu("DejaVuMathTeXGyre.ttf"),
        headers: { "content-type": "font/ttf" },
      });
      const [face] = put.json.faces;
      await world.makeMap("texts", "labels");
      await world.api("POST", "texts/layers/labels/objects/", { body: { fields: {}, geom: point(10, 10) } });
      const drawn = async (name: string) => {
        const css_style = `#labels { text-name: "'Rag'"; text-size: 40; text-face-name: "${name}"; }`;
        const { json } = await world.api("PATCH", "texts/layers/labels/", {
          body: { parent_id: 0, css_style },
        });
        return { bytes: (await world.tileAnswer("texts", at)).bytes, notices: json.notices ?? [] };
      };
      const ours = await drawn(face);
      t.same(ours.notices, []);
      const other = await drawn("DejaVu Sans Book");
      t.notOk(ours.bytes.equals(other.bytes), "it is drawn with the project's font");
      t.same(
        (await world.api("GET", "fonts/")).json.map(({ path }: { path: string }) => path),
        ["math.ttf"],
      );
      await world.api("PUT", "fonts/spare.otf", {
        body: blockFont({ family: "Spare" }),
        headers: { "content-type": "font/otf" },
      });
      await world.api("DELETE", "fonts/spare.otf");
    },
  },
];
