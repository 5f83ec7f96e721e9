import { collection, feature, point, project, type Step } from "../world.js";

/** Names and values in the languages of the project, which are English and German. */

const here = { lon: 13.374, lat: 52.515, z: 14 };
const labels = `#places { text-name: [name]; text-face-name: "DejaVu Sans Book"; text-size: 20; }`;

export const nameSteps: readonly Step[] = [
  {
    name: "names in several languages",
    also: true,
    walk: async (t, world) => {
      await world.makeMap("names", "places", labels);
      const station = feature({ name: "Station" }, point(here.lon, here.lat));
      await world.api("POST", "names/layers/places/import/", { body: collection(station) });
      for (const [path, en, de, more] of [
        ["names/", "City plan", "Stadtplan", {}],
        ["names/layers/places/", "Places", "Orte", { parent_id: 0 }],
        [
          "names/layers/places/structure/name/",
          "Name",
          "Bezeichnung",
          { type: "string", localized_value: true },
        ],
      ] as const)
        t.match((await world.api("PATCH", path, { body: { ...more, name: { en, de } } })).json, { name: en });
      const nameIn = async (language: string, path: string) =>
        (await world.api("GET", `${path}?lng=${language}`)).json;
      t.match(await nameIn("de", "names/"), { name: "Stadtplan" });
      t.match(await nameIn("fr", "names/"), { name: "City plan" }, "of others the main one");
      t.match(await nameIn("de", "names/layers/"), [{ name: "Orte" }]);
      const columns = await nameIn("de", "names/layers/places/structure/");
      t.match(columns.at(-1), { code: "name", name: "Bezeichnung" });

      const [object] = (await world.api("GET", "names/layers/places/objects/")).json;
      const translated = { body: { fields: { name: "Bahnhof" } } };
      await world.api("PUT", `names/layers/places/objects/${object.id}/?lng=de`, translated);
      const value = async (query: string) =>
        (await world.api("GET", `names/layers/places/objects/?fields=name${query}`)).json[0].fields.name;
      t.same([await value(""), await value("&lng=de")], ["Station", "Bahnhof"]);
      t.match((await world.api("GET", "names/search/?phrase=bahnhof&lang=de")).json, [{ value: "Bahnhof" }]);
      const exported = await world.api("GET", "names/layers/places/export/?format=csv&langs=de");
      t.match(exported.text, /Bahnhof/);
      t.notMatch(exported.text, /Station/);

      const drawn = async (query: string) => (await world.tileAnswer("names", here, query)).bytes;
      t.notOk((await drawn("&lng=de")).equals(await drawn("&lng=en")), "labels are of the tile's language");
      t.ok((await drawn("&lng=en")).equals(await drawn("")));
      const { json } = await world.ask("GET", `/tms/${project}/names/tile.json?lng=de`);
      t.match(json, { name: "Stadtplan", tiles: [/lng=de/] });
      const visualSettings = {
        ...{ type: 2, columnCode: "name" },
        legendNames: [{ en: "Kinds" }, { de: "Arten" }],
      };
      await world.api("PUT", "names/layers/places/visualization/", { body: { visualSettings } });
      t.match(await nameIn("de", "names/layers/places/legend/"), { name: "Arten" });
    },
  },
];
