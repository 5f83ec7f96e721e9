import { createHash } from "node:crypto";
import t from "tap";
import { readColumns } from "../../src/catalog/column-rows.js";
import { dressLayer } from "../../src/import/first-look.js";
import { readDefault } from "../../src/style/read-default.js";
import { collection, feature, importBench, point } from "../support/transfer.js";

/** The default style of a layer suits its first objects. */

const bench = await importBench();
t.teardown(() => bench.stop());

async function lookAfter(content: unknown, source = {}, layer?: number) {
  const id = layer ?? (await bench.layer());
  await bench.import(id, content, source);
  const [node] = await bench.db.query<{ css: string; kind: "Point" }>(
    "select n.css_style as css, l.geometry_kind as kind from node n join layer l on l.id = n.id where n.id = $1",
    [id],
  );
  return { id, css: node!.css, look: readDefault(node!.css, node!.kind) };
}

const rows = (properties: (at: number) => object, count = 6) =>
  collection(
    ...Array.from({ length: count }, (_, at) =>
      feature(properties(at), point((at % 800) / 10, (at % 800) / 10)),
    ),
  );
const labelOf = async (properties: (at: number) => object) =>
  (await lookAfter(rows(properties))).look?.label?.column;
const towns = ["Aarhus", "Bern", "Chur", "Den Haag", "Évreux", "Fürth"];

t.test("a column that evidently names the objects labels them", async (t) => {
  t.equal(await labelOf((at) => ({ id: at, note: "x", NAME: `a${at}` })), "NAME");
  t.equal(await labelOf((at) => ({ title: towns[at], Name_en: towns[at] })), "Name_en");
  t.equal(await labelOf((at) => ({ code: `DE${at}`, town: towns[at] })), "town", "its values are names");
  t.equal(await labelOf((at) => ({ code: `DE${at}`, kind: "Town" })), undefined);
  t.equal(
    await labelOf(() => ({ name: "Long words that nobody would read on a map, said again and again" })),
    undefined,
  );
  t.equal(await labelOf((at) => ({ name: at })), undefined, "a number is no name");
});

t.test("of names in several languages those in the main one of the project label", async (t) => {
  const name = (at: number) => towns[at % towns.length];
  t.equal(await labelOf((at) => ({ name_de: name(at), name_ru: name(at), name_en: name(at) })), "name_en");
  t.equal(await labelOf((at) => ({ NAME_DE: name(at), NAME_EN: name(at) })), "NAME_EN");
  t.equal(await labelOf((at) => ({ title_ru: name(at), title_en: name(at) })), "title_en");
  t.equal(await labelOf((at) => ({ name: name(at), name_en: name(at), name_ru: name(at) })), "name_en");
  t.equal(
    await labelOf((at) => ({ name: name(at), name_ru: name(at), ...(at % 2 ? { name_en: name(at) } : {}) })),
    "name",
    "in the main language only half have one",
  );
  t.equal(await labelOf((at) => ({ name: name(at), name_de: name(at) })), "name", "another language is none");
  const { id } = await lookAfter(rows((at) => ({ name_en: name(at), name_ru: name(at) }), 0));
  await bench.db.execute("update project set languages = '{ru,en}'");
  const { look } = await lookAfter(
    rows((at) => ({ name_en: name(at), name_ru: name(at) })),
    {},
    id,
  );
  t.equal(look?.label?.column, "name_ru");
  await bench.db.execute("update project set languages = '{en,ru}'");
});

t.test("labels begin where tiles have room for them", async (t) => {
  const scattered = (count: number) =>
    collection(
      ...Array.from({ length: count }, (_, at) =>
        feature({ name: `a${at}` }, point((at * 37) % 80, (at * 53) % 61)),
      ),
    );
  const { look } = await lookAfter(scattered(2000));
  const { look: fewer } = await lookAfter(scattered(20));
  t.ok(look!.label!.fromZoom >= 1 && look!.label!.fromZoom <= 6, String(look!.label!.fromZoom));
  t.ok(fewer!.label!.fromZoom >= 1 && fewer!.label!.fromZoom <= 9);
});

t.test("objects without a name need no room for it", async (t) => {
  const square = (x: number, y: number) => ({
    type: "Polygon",
    coordinates: [
      [
        [x, y],
        [x + 1, y],
        [x + 1, y + 1],
        [x, y + 1],
        [x, y],
      ],
    ],
  });
  const fromZoomOf = async (name: (at: number) => string | null) => {
    const squares = Array.from({ length: 800 }, (_, at) =>
      feature({ name: name(at) }, square(at % 40, Math.floor(at / 40))),
    );
    return (await lookAfter(collection(...squares))).look?.label?.fromZoom;
  };
  const all = await fromZoomOf((at) => `a${at}`);
  const third = await fromZoomOf((at) => (at % 3 === 0 ? `a${at}` : null));
  t.equal(third, all! - 1);
});

t.test(
  "labels begin where tiles have room for them in the part of the area that most objects are in",
  async (t) => {
    // Nine of ten are within a degree, the others far apart.
    const place = (at: number): [number, number] =>
      at % 10 === 0
        ? [-170 + (at % 340), -60 + (at % 120)]
        : [10 + ((at * 7) % 100) / 100, 40 + ((at * 13) % 97) / 97];
    const towns = (count: number) =>
      collection(
        ...Array.from({ length: count }, (_, at) => feature({ name: `a${at}` }, point(...place(at)))),
      );
    const { look } = await lookAfter(towns(2000));
    // A square of a degree there is 42 tiles at zoom 11, each with room for 24 labels.
    t.ok(look!.label!.fromZoom >= 11 && look!.label!.fromZoom <= 12, String(look!.label!.fromZoom));
  },
);

t.test("what has many inhabitants is named before the rest, and from lower zooms on", async (t) => {
  const town = (at: number) => ({ name: `a${at}`, Population: at === 7 ? 4_123_456 : (at % 100) * 1000 });
  const { look, css } = await lookAfter(rows(town, 2000));
  t.match(look?.label?.importance, { column: "Population", least: [93_000, 99_000] });
  const { fromZoom } = look!.label!;
  t.match(css, `[zoom>=${Math.max(0, fromZoom - 2)}][Population>=93000]`);
  const many = await lookAfter(rows((at) => ({ name: `a${at}`, Population: Math.floor(1.003 ** at) }), 5000));
  t.equal(many.look?.label?.importance?.least.length, 3, "of very many the greatest from still lower ones");
  const people = (at: number) => Math.floor(1e12 * 0.997 ** at);
  const sorted = await lookAfter(rows((at) => ({ name: `a${at}`, Population: people(at) }), 40_000));
  t.same(
    sorted.look?.label?.importance?.least,
    [2500, 156, 9].map((at) => Number(people(at).toPrecision(2))),
    "also where they come first in the file",
  );
  const same = await lookAfter(rows((at) => ({ name: `a${at}`, population: 0 })));
  t.equal(same.look?.label?.importance, undefined, "nobody is more important");
  const huge = await lookAfter(rows((at) => ({ name: `a${at}`, population: 1e30 })));
  t.equal(huge.look?.label?.importance, undefined, "CartoCSS cannot write it");
  const words = await lookAfter(rows((at) => ({ name: `a${at}`, population: `many ${at}` })));
  t.equal(words.look?.label?.importance, undefined);
});

t.test("symbols are of full size from the zoom on at which the objects have room", async (t) => {
  const scattered = (degrees: number, count: number) =>
    collection(
      ...Array.from({ length: count }, (_, at) =>
        feature({}, point(10 + degrees * (at % 30), 40 + degrees * Math.floor(at / 30))),
      ),
    );
  const roomOf = async (content: unknown) => (await lookAfter(content)).look?.room;
  // A degree is 0.7 pixels at zoom 0, and 12 pixels at zoom 4 or 5.
  const wide = (await roomOf(scattered(1, 300)))!;
  t.ok(wide >= 4 && wide <= 5, String(wide));
  t.equal(await roomOf(scattered(1 / 64, 300)), wide + 6, "six zooms later where all is 64 times nearer");
  t.equal(await roomOf(scattered(1, 1)), undefined, "one tells nothing");
  t.equal(await roomOf(rows(() => ({}), 4000)), 7, "not where several lie on one place");
  const area = (degrees: number) => ({
    type: "Polygon",
    coordinates: [
      [
        [10, 10],
        [10 + degrees, 10],
        [10 + degrees, 10 + degrees],
        [10, 10 + degrees],
        [10, 10],
      ],
    ],
  });
  const large = (await roomOf(collection(feature({}, area(8)))))!;
  t.equal(await roomOf(collection(feature({}, area(1)))), large + 3, "small areas need larger zooms");
  const lines = (count: number) =>
    collection(
      ...Array.from({ length: count }, (_, at) =>
        feature(
          {},
          {
            type: "LineString",
            coordinates: [
              [10, 10 + (20 * at) / count],
              [30, 10 + (20 * at) / count],
            ],
          },
        ),
      ),
    );
  const few = (await roomOf(lines(16)))!;
  const many = (await roomOf(lines(512)))!;
  t.ok(many - few >= 4 && many - few <= 6, `${few}, ${many}`);
  const meridian = (count: number) =>
    collection(
      ...Array.from({ length: count }, (_, at) => {
        const coordinates = [
          [0, 40 + (10 * at) / count],
          [0, 40 + (10 * (at + 1)) / count],
        ];
        return feature({}, { type: "LineString", coordinates });
      }),
    );
  for (const count of [1, 100])
    t.ok((await roomOf(meridian(count)))! <= 6, `${count} in a row, whose box has no area, are not dense`);
});

t.test("an import does not wait for a look that takes long", async (t) => {
  const crowd = (at: number) => ({
    type: "MultiPoint",
    coordinates: Array.from({ length: 20_000 }, (_, place) => [
      10 + at / 1e4 + place / 1e6,
      40 + (place % 141) / 1e5,
    ]),
  });
  const many = collection(...Array.from({ length: 4 }, (_, at) => feature({ name: `n${at}` }, crowd(at))));
  const { look } = await lookAfter(many);
  t.equal(look?.room, undefined);
  t.equal(look?.label?.column, "name", "it has a label all the same");
});

t.test(
  "names of very many points that take long to measure begin late, and labels keep clear of none",
  async (t) => {
    const count = 20_000;
    const digest = (id: number) => createHash("md5").update(String(id)).digest("hex");
    // Those that are measured first have so many points that it takes long.
    const first = Array.from({ length: count }, (_, at) => at + 1)
      .toSorted((one, other) => (digest(one) < digest(other) ? -1 : 1))
      .slice(0, 8);
    const crowd = (id: number) => ({
      type: "MultiPoint",
      coordinates: Array.from({ length: 20_000 }, (_, place) => [
        10 + id / 1e6 + place / 1e6,
        40 + (place % 141) / 1e5,
      ]),
    });
    const scattered = (id: number) => point(((id * 37) % 8000) / 100, ((id * 53) % 6100) / 100);
    const { look, css } = await lookAfter(
      collection(
        ...Array.from({ length: count }, (_, at) =>
          feature({ name: `a${at}` }, first.includes(at + 1) ? crowd(at + 1) : scattered(at + 1)),
        ),
      ),
    );
    t.match(look, { dense: true, room: 14, label: { column: "name", fromZoom: 14 } });
    t.notMatch(css, /\] \{ marker-ignore-placement/);
  },
);

t.test("borders of importance that take long to find are left out", async (t) => {
  const { id, look } = await lookAfter(rows((at) => ({ name: `a${at}`, population: 100 * at + 100 }), 300));
  t.ok(look?.label?.importance);
  const columns = await readColumns(bench.db, id);
  const { physical } = columns.find(({ code }) => code === "population")!;
  // Each number takes 10 ms to read.
  for (const statement of [
    "create type public.slow_number as (value float8)",
    `create function public.read_slowly(slow public.slow_number) returns float8 language sql volatile
       as 'select (slow).value from pg_sleep(0.01)'`,
    "create cast (public.slow_number as float8) with function public.read_slowly",
    `alter table layers.l${id} alter ${physical} type public.slow_number using row(${physical})::public.slow_number`,
  ])
    await bench.db.execute(statement);
  await bench.db.transaction((tx) =>
    dressLayer(tx, { layerId: id, columns, rows: 300, before: "Point", kind: "Point" }),
  );
  const [node] = await bench.db.query<{ css: string }>("select css_style as css from node where id = $1", [
    id,
  ]);
  const again = readDefault(node!.css, "Point");
  t.match(again?.label, { column: "name", fromZoom: look!.label!.fromZoom });
  t.equal(again?.label?.importance, undefined);
});

t.test("labels keep clear of points, but not of very many", async (t) => {
  t.equal((await lookAfter(rows(() => ({}), 500))).look?.dense, false);
  t.equal((await lookAfter(rows(() => ({}), 20_000))).look?.dense, true);
  const { css, look } = await lookAfter(rows((at) => ({ name: `a${at}` }), 20_000));
  t.match(css, `[zoom<${look?.label?.fromZoom}] { marker-ignore-placement: true; }`);
  t.equal(
    css.match(/ignore-placement/g)?.length,
    1,
    "but of very many, too, from where on all have room for names",
  );
});

t.test(
  "layers have colours of their own, which they keep, and a style that somebody chose stays",
  async (t) => {
    const first = await lookAfter(rows(() => ({})));
    const second = await lookAfter(rows(() => ({})));
    t.not(first.look!.hue, second.look!.hue);
    const again = await lookAfter(
      rows((at) => ({ name: `a${at}` })),
      { action: "replace" },
      first.id,
    );
    t.match(again.look, { hue: first.look!.hue, label: { column: "name" } });
    const css = "#x { marker-width: 3; }";
    await bench.db.execute("update node set css_style = $2 where id = $1", [first.id, css]);
    t.equal(
      (
        await lookAfter(
          rows((at) => ({ title: `a${at}` })),
          { action: "replace" },
          first.id,
        )
      ).css,
      css,
    );
  },
);

t.test("a layer in the default style of an earlier version is dressed anew, too", async (t) => {
  const { id, css } = await lookAfter(rows((at) => ({ name: `a${at}` })));
  const before = css.replaceAll(/\n *text-wrap-before: true;/g, "");
  t.not(before, css);
  await bench.db.execute("update node set css_style = $2 where id = $1", [id, before]);
  t.equal(
    (
      await lookAfter(
        rows((at) => ({ name: `a${at}` })),
        { action: "replace" },
        id,
      )
    ).css,
    css,
  );
  const blue = `#layer {
  marker-width: 7;
  marker-fill: #2a6fbb;
  marker-line-color: #ffffff;
  marker-line-width: 1;
  marker-allow-overlap: true;
}
`;
  await bench.db.execute("update node set css_style = $2 where id = $1", [id, blue]);
  const { look } = await lookAfter(
    rows((at) => ({ name: `a${at}` })),
    { action: "replace" },
    id,
  );
  t.match(look, { label: { column: "name" } });
  t.not(look?.hue, undefined, "and gets a colour where it had that of all");
});
