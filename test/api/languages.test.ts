import t from "tap";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { readPdf } from "../support/pdf.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** Values in several languages: what is asked for by one is not what another says; what people read falls back. */

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const token = await server.token("admin");
await makeMap(server, "m");
const style = "#a { polygon-fill: #ff0000; [name = 'Лес'] { polygon-fill: #00ff00; } }";
await makeStyledLayer(server, "m", "l", style);
const L = "m/layers/l/";
const must = async (method: string, path: string, body?: unknown) => {
  const answer = await api(method, path, { token, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
};
for (const [code, type] of [
  ["name", "string"],
  ["rank", "number"],
  ["seen", "datetime"],
  ["open", "bool"],
  ["data", "json"],
] as const)
  await must("POST", `${L}structure/`, { code, type, localized_value: true });

const both = await addObject(server, "l", square(0, 0, 20), { map: "m" });
const russian = await addObject(server, "l", square(30, 0, 20), { map: "m" });
const german = await addObject(server, "l", square(60, 0, 20), { map: "m" });
const empty = await addObject(server, "l", square(90, 0, 20), { map: "m" });
const moment = "2024-01-02T03:04:05Z";
const put = (id: number, fields: object, lng = "") =>
  must("PUT", `${L}objects/${id}/${lng && `?lng=${lng}`}`, { fields });
await put(both, { name: { en: "Wood", ru: "Лес" }, rank: { en: 2, ru: 20 }, data: { a: [1] } });
await put(russian, { name: "Озеро", rank: 1, seen: moment, open: false, data: { b: 2 } }, "ru");
await put(german, { name: "See", rank: 30 }, "de");

const none = { name: null, rank: null, seen: null, open: null, data: null };
const english = [{ ...none, name: "Wood", rank: 2, data: { a: [1] } }, none, none, none];
const inRussian = [
  { ...none, name: "Лес", rank: 20 },
  { name: "Озеро", rank: 1, seen: moment, open: false, data: { b: 2 } },
  none,
  none,
];
const inGerman = [none, none, { ...none, name: "See", rank: 30 }, none];
const answers = { "": english, en: english, ru: inRussian, de: inGerman, fr: [none, none, none, none] };

const fieldsOf = (items: { fields?: object; properties?: object }[]) =>
  items.map((item) => {
    const { svc_id: _, ...fields } = (item.fields ?? item.properties) as Record<string, unknown>;
    return fields;
  });
const ids = async (query: string) =>
  (await must("GET", `${L}objects/?${query}`)).map(({ id }: { id: number }) => id);

t.test("values are those of the language that is asked for, and no other", async (t) => {
  for (const [lng, expected] of Object.entries(answers)) {
    const query = lng && `&lng=${lng}`;
    t.strictSame(fieldsOf(await must("GET", `${L}objects/?fields=*${query}`)), expected, `list ${lng}`);
    t.strictSame(fieldsOf(await must("GET", `${L}objects/?fields=*&limit=9${query}`)), expected);
    const features = await must("GET", `${L}objects/?fields=*&format=geojson${query}`);
    t.strictSame(fieldsOf(features.features), expected, `features ${lng}`);
    t.strictSame(
      fieldsOf(await must("POST", `${L}filter/`, { fields: "*", lng: lng || undefined })),
      expected,
    );
    const single = [both, russian, german, empty].map((id) => must("GET", `${L}objects/${id}/?${query}`));
    t.strictSame(fieldsOf(await Promise.all(single)), expected, `objects ${lng}`);
  }
  const { fields } = await must("GET", `${L}objects/${russian}/?f=fjson`);
  t.match(fields, { name: null, rank: null, open: null });
  t.match((await must("GET", `${L}objects/${russian}/?f=fjson&lng=ru`)).fields, { rank: "1", open: "false" });
});

t.test("what was got in a language can be put in it, and the others stay", async (t) => {
  const before = await must("GET", `${L}objects/?fields=*&lng=ru`);
  for (const id of [both, russian, german, empty]) {
    const { fields } = await must("GET", `${L}objects/${id}/?lng=en`);
    t.strictSame((await put(id, fields, "en")).fields, fields, "and that is the answer");
  }
  t.strictSame(await must("GET", `${L}objects/?fields=*&lng=ru`), before);
  t.strictSame(fieldsOf(await must("GET", `${L}objects/?fields=*&lng=de`)), inGerman);
  t.strictSame(fieldsOf(await must("GET", `${L}objects/?fields=*`)), english);
  const made = await must("POST", `${L}objects/?lng=de`, { fields: { name: { ru: "Река" }, rank: 4 } });
  t.match(made.fields, { name: null, rank: 4 });
  await must("DELETE", `${L}objects/${made.id}/`);
});

t.test("an empty text is a value of its language", async (t) => {
  await put(empty, { name: "" });
  t.equal((await must("GET", `${L}objects/${empty}/`)).fields.name, "");
  t.same(await ids("fields=name&fcode=name&fval="), [russian, german, empty]);
  await put(empty, { name: null });
});

t.test("lists are filtered and sorted in the language", async (t) => {
  const wood = encodeURIComponent("Лес");
  const cases: [string, number[]][] = [
    ["fcode=name&fval=Wood", [both]],
    [`fcode=name&fval=${wood}`, []],
    [`fcode=name&fval=${wood}&lng=ru`, [both]],
    ["fcode=name&fval=Wood&lng=ru", []],
    ["fcode=name&fval=&lng=ru", [german, empty]],
    ["fcode=name&fval=See&lng=de", [german]],
    ["fcode=rank&fval=1", []],
    ["fcode=rank&fval=1&lng=ru", [russian]],
    ["fcode=rank&fval=", [russian, german, empty]],
    [`fcode=seen&fval=${moment}&lng=ru`, [russian]],
    ["fcode=open&fval=false&lng=ru", [russian]],
    ["fcode=open&fval=", [both, russian, german, empty]],
    ["sort=rank&lng=ru", [russian, both, german, empty]],
    ["sort=rank", [both, russian, german, empty]],
    ["sort=name,d&lng=ru", [german, empty, russian, both]],
  ];
  for (const [query, expected] of cases) t.same(await ids(`fields=*&${query}`), expected, query);
});

t.test("filters of layers made from others see the main language", async (t) => {
  for (const type of ["virtual", "material"]) {
    const make = (code: string, filter: string) =>
      must("POST", "m/layers/", { code: `${type}${code}`, type, source: { layer: "l", filter } });
    await make("named", "name is not null");
    await make("lakes", "name = 'Озеро' or rank = 1 or rank > 25 or seen < '2030-01-01'");
    const objects = async (code: string) =>
      fieldsOf(await must("GET", `m/layers/${type}${code}/objects/?fields=*&lng=ru`));
    t.strictSame(await objects("named"), [inRussian[0]], "of what it has, all languages come along");
    t.strictSame(await objects("lakes"), []);
  }
});

t.test("what people read falls back to the main language, then to any", async (t) => {
  await put(german, { name: { en: "", de: "Лес" } });
  await put(both, { name: { en: "Wood", ru: "" } });
  const colour = async (lon: number, lng: string) => {
    const answer = await fetch(tileUrl(server, "m", { lon, lat: 10, z: 5 }, `&base=0&lng=${lng}`));
    const { width, height, at } = await picture(await answer.arrayBuffer());
    return at(width / 2, height / 2).slice(0, 3);
  };
  const [red, green] = [
    [255, 0, 0],
    [0, 255, 0],
  ];
  for (const lng of ["en", "ru"]) t.same(await colour(70, lng), green, `an object without ${lng}`);
  t.same(await colour(10, "ru"), red);
  await put(both, { name: { en: "Лес", ru: "" } });
  t.same(await colour(10, "ru"), green, "an empty text says nothing");

  const visualSettings = {
    type: 2,
    columnCode: "name",
    classesSettings: { classes: [{ value: "Лес" }, { value: "Озеро" }] },
  };
  const visual = await must("PUT", `${L}visualization/`, { visualSettings });
  t.match(visual.visualSettings.classesSettings.classes, [{ count: 2 }, { count: 1 }], "as tiles do");

  const said = async (id: number, lng: string) => {
    const answer = await fetch(`${server.url}/api/2.8/p/${L}objects/${id}/?f=pdf&lng=${lng}`);
    return readPdf(Buffer.from(await answer.arrayBuffer())).text.split("\n");
  };
  for (const lng of ["en", "de", "fr"]) t.ok((await said(russian, lng)).includes("Озеро"), lng);
  t.ok((await said(both, "de")).includes("Лес"));

  const found = await must("GET", `m/search/?phrase=${encodeURIComponent("Озеро")}&lang=en`);
  t.match(found, [{ type: "object", svc_id: russian, name: "Озеро", value: "Озеро" }]);
});
