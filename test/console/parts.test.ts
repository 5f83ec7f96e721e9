import t from "tap";
import { defaultStyle } from "../../src/style/default-style.js";
import { rulesOf } from "../../src/viewer/browser/console/carto-rules.js";
import { codeOf, groupFiles } from "../../src/viewer/browser/console/file-groups.js";
import { publicationOf, readersSee } from "../../src/viewer/browser/console/publication.js";
import { styleFor } from "../../src/viewer/browser/console/style-for.js";
import { readForm, withLabel, withSymbol, withZooms } from "../../src/viewer/browser/console/style-form.js";
import { movesBy, movesTo, nextTo } from "../../src/viewer/browser/console/tree-moves.js";
import { TreeSelection } from "../../src/viewer/browser/console/tree-selection.js";
import { LayerTree, type TreeItem } from "../../src/viewer/browser/layer-tree.js";

/** Parts of the console that need no page. */

const label = { column: "name", fromZoom: 8, importance: { column: "pop", least: [16, 256] } };

t.test("the form reads default styles of every kind", (t) => {
  t.same(readForm(defaultStyle("Polygon", { label })), {
    symbols: [{ kind: "polygon", fill: "#009e73", opacity: 0.25, stroke: "#009e73", width: 1.2 }],
    label: "name",
    minZoom: undefined,
    maxZoom: undefined,
  });
  t.match(readForm(defaultStyle("Point", { room: 9, dense: true })), {
    symbols: [{ kind: "point", fill: "#009e73", size: 8, stroke: "#ffffff", width: 1, opacity: 1 }],
    label: null,
  });
  t.match(readForm(defaultStyle("LineString", { label })), { symbols: [{ kind: "line", width: 2 }] });
  t.same(
    readForm(defaultStyle("Unknown", { label }))?.symbols.map(({ kind }) => kind),
    ["polygon", "line", "point"],
  );
  t.end();
});

t.test("a change replaces one value, and sizes at lower zooms keep their proportion", (t) => {
  const css = `/* mine { */\n${defaultStyle("Point", { label })}`;
  const red = withSymbol(css, "point", "fill", "#ff0000");
  t.equal(red, css.replace("marker-fill: #009e73", "marker-fill: #ff0000"));
  const large = withSymbol(red, "point", "size", 16);
  t.match(large, "marker-width: 16;");
  t.match(large, "[zoom<10] { marker-width: 12; }");
  t.equal(withSymbol(large, "point", "size", 8), red);
  t.equal(
    readForm(withSymbol(css, "point", "opacity", 0.5))?.symbols[0]?.opacity,
    0.5,
    "also what it did not say",
  );
  t.end();
});

t.test(
  "sizes follow from nothing and to nothing, and the form reads no style of which it would show half",
  (t) => {
    const css =
      "#a { line-width: 1.2; line-color: #111111; [zoom<10] { line-width: 0.8; } [zoom<6] { line-width: 0.3; } }";
    const none = withSymbol(css, "line", "width", 0);
    t.notMatch(none, /line-width: 0\.[38]/, "no line at any zoom");
    t.equal(withSymbol(none, "line", "width", 2).match(/line-width: 2;/g)?.length, 3);
    const marker = "#a { marker-width: 10; marker-height: 20; marker-fill: #ff0000; }";
    t.match(withSymbol(marker, "point", "size", 30), "marker-width: 30; marker-height: 60;");
    for (const [half, why] of [
      ["#a { marker-fill: #ff0000; text-name: [name]; }", "labels in the rule of the symbols"],
      ["#a { polygon-pattern-file: url(a.png); }", "a pattern"],
      [
        "#a { ['mapnik::geometry_type'=1] { marker-width: 4; } ['mapnik::geometry_type'=2] { marker-width: 5; } }",
        "two of a kind",
      ],
    ] as const)
      t.equal(readForm(half), undefined, why);
    const address = "#a { marker-file: url(//a.b/c.png); marker-fill: #ff0000; }";
    t.match(readForm(address), { symbols: [{ fill: "#ff0000" }] });
    t.match(
      withZooms("#a[zoom>4] { line-width: 1; } #a::n[zoom>4] { text-name: [name]; }", 2, undefined),
      /^#a\[zoom>=2\] .*#a::n\[zoom>=2\] /,
    );
    t.end();
  },
);

t.test("labels come, change and go, and nothing else", (t) => {
  for (const kind of ["Point", "LineString", "Polygon", "Unknown"] as const) {
    const plain = defaultStyle(kind);
    const named = withLabel(plain, "title");
    t.equal(readForm(named)?.label, "title", kind);
    t.equal(withLabel(named, "name"), withLabel(plain, "name"));
    t.equal(withLabel(named, null), plain);
    // What symbols do to make room for labels stays.
    t.equal(readForm(withLabel(defaultStyle(kind, { label }), null))?.label, null);
  }
  t.end();
});

t.test("limits of zooms hold for labels too, which keep their own", (t) => {
  for (const kind of ["Point", "Polygon"] as const) {
    const css = defaultStyle(kind, { label });
    const limited = withZooms(css, 5, 12);
    t.match(readForm(limited), { minZoom: 5, maxZoom: 12, label: "name" });
    t.match(limited, "#layer::names[zoom>=5][zoom<=12][zoom>=8]");
    t.equal(withZooms(limited, undefined, undefined), css);
    t.equal(withZooms(withZooms(limited, 8, undefined), undefined, undefined), css);
  }
  t.end();
});

t.test("what the form could not show is left to CartoCSS", (t) => {
  for (const css of [
    `#a { marker-fill: red; [species = "Oak"] { marker-fill: green; } }`,
    "@c: red; #a { line-color: @c; }",
    "#a { line-width: 1; } #a::case { line-width: 3; }",
    "#a { line-width: 1; ",
    "#a, #b { line-width: 1; }",
    "#a { marker-width: 3; line-width: 1; }",
    "Map { background-color: red; }",
    "",
  ])
    t.equal(readForm(css), undefined, css);
  t.same(readForm("#a { line-color: red; line-width: 2 }")?.symbols, [
    { kind: "line", width: 2, opacity: 1 },
  ]);
  t.equal(rulesOf(`#a { text-name: "}{;" /* } */ + [b]; }`)?.[0]?.declarations.length, 1);
  t.end();
});

t.test("files that belong together are one layer", (t) => {
  const names = [
    "roads.SHP",
    "a.csv",
    "roads.dbf",
    "Roads.prj",
    "b.tar.gz",
    "lone.dbf",
    "photo.tif",
    "photo.tfw",
  ];
  t.same(
    groupFiles(names.map((name) => ({ name }))).map(({ name, files }) => [
      name,
      files.map((file) => file.name),
    ]),
    [
      ["roads", ["roads.SHP", "roads.dbf", "Roads.prj"]],
      ["photo", ["photo.tif", "photo.tfw"]],
      ["a", ["a.csv"]],
      ["b.tar", ["b.tar.gz"]],
      ["lone", ["lone.dbf"]],
    ],
  );
  t.equal(codeOf("Été à Paris!", "map"), "ete-a-paris");
  t.equal(codeOf("Новая карта: Ёлки", "map"), "novaia-karta-elki");
  t.equal(codeOf("地図", "map"), "map");
  t.equal(codeOf(`${"x".repeat(39)}--y`, "map"), "x".repeat(39));
  t.end();
});

t.test("readers see what is here, or are told about to who publishes", (t) => {
  const element = (id: number, more = {}) => ({
    ...{ id, type: "layer", code: `c${id}`, name: "", sort: id, parent_id: 0, selected: true },
    ...{ icon: `icon/${id}`, ...more },
  });
  const all = [element(1, { type: "folder", selected: false }), element(2, { parent_id: 1 }), element(3)];
  const on = new Set([2, 3]);
  t.equal(readersSee({ all, published: all }, new Set([3])), "same");
  t.equal(readersSee({ all, published: all }, on), "behind", "the folder is off for them");
  const saved = publicationOf({ all, published: [element(8, { map_layer_id: 3, icon: "own" })] }, on);
  t.same(saved, [
    { id: 1, parent_id: 0, map_layer_id: 1, sort: 1, selected: true },
    { id: 2, parent_id: 1, map_layer_id: 2, sort: 2, selected: true },
    { id: 3, parent_id: 0, map_layer_id: 3, sort: 3, selected: true, icon: "own" },
  ]);
  const published = saved.map((one) => element(one.id, { ...one, type: one.id === 1 ? "folder" : "layer" }));
  t.equal(readersSee({ all, published }, on), "same");
  t.equal(readersSee({ all: [element(4, { sort: 0 }), ...all], published }, on), "behind");
  t.equal(readersSee({ all: [...all.slice(0, 2), element(3, { sort: 0 })], published }, on), "arranged");
  t.equal(readersSee({ all, published: [element(0, { group_layers: 1 })] }, on), "same");
  t.end();
});

t.test("a style for another layer names that one, and nothing else of it changes", (t) => {
  const css =
    "/* #roads */ #roads[zoom>4] { line-width: 1; } #roads::case { line-width: 2; } #roads-2 { line-width: 3; }";
  t.equal(styleFor(css, "roads", "rails"), css.replaceAll(/(?<=\s)#roads(?=[[:])/g, "#rails"));
  t.equal(styleFor("#layer { line-width: 1; }", "roads", "rails"), "#layer { line-width: 1; }");
  const variable = "@w: 2; #roads { line-width: @w; }";
  t.equal(styleFor(variable, "roads", "rails"), variable, "what cannot be read stays");
  t.end();
});

/** Layers by letters, folders by `1` to `9` with what follows in brackets. */
function treeOf(text: string): {
  readonly roots: readonly TreeItem[];
  readonly at: (name: string) => TreeItem;
} {
  const parents = [0];
  const elements = [...text].flatMap((code, sort) => {
    if (code === "(") parents.push(text.charCodeAt(sort - 1));
    else if (code === ")") parents.pop();
    else {
      const type = /\d/.test(code) ? "folder" : "layer";
      return [
        { id: code.charCodeAt(0), type, code, name: "", sort, parent_id: parents.at(-1)!, selected: true },
      ];
    }
    return [];
  });
  const { roots } = new LayerTree(elements);
  const all = (items: readonly TreeItem[]): TreeItem[] =>
    items.flatMap((item) => [item, ...all(item.children)]);
  const known = new Map(all(roots).map((item) => [item.title, item]));
  return { roots, at: (name) => known.get(name)! };
}
const told = (moves: ReturnType<typeof movesTo>) =>
  moves.map(
    ({ item, place }) =>
      `${item.title} ${place.parentId ? String.fromCharCode(place.parentId) : "-"} ${place.sort}`,
  );

t.test("several rows move together, in their order", (t) => {
  const { roots, at } = treeOf("ab1(cd)e2(f)");
  const of = (names: string) => [...names].map(at);
  t.same(told(movesTo(roots, of("be"), at("a"), "before")), ["b - 1", "e - 2"]);
  t.same(told(movesTo(roots, of("ab"), at("e"), "after")), ["a - 4", "b - 4"]);
  t.same(told(movesTo(roots, of("ac"), at("2"), "inside")), ["a 2 2", "c 2 3"]);
  t.same(told(movesTo(roots, of("a1"), at("c"), "after")), [], "nothing goes into itself");
  t.same(told(movesTo(roots, of("ab"), at("1"), "before")), [], "they are there already");
  t.same(told(movesBy(roots, of("be"), "up")), ["b - 1", "e - 3"]);
  t.same(told(movesBy(roots, of("ab"), "up")), [], "what meets the top stays, and what meets that");
  t.same(told(movesBy(roots, of("ab"), "down")), ["b - 3", "a - 2"]);
  t.same(told(movesBy(roots, of("e2"), "in")), ["e 1 3", "2 1 4"]);
  t.same(told(movesBy(roots, of("dfa"), "out")), ["d - 4", "f - 7"]);
  const goes = new Set(of("ab"));
  t.equal(nextTo(roots, at("a"), (item) => !goes.has(item))?.title, "1");
  t.equal(nextTo(roots, at("f"), () => true)?.title, "2");
  t.end();
});

t.test(
  "a range of rows begins where something was chosen, and what others take away is not selected",
  (t) => {
    const order = [1, 2, 3, 4, 5];
    const selection = new TreeSelection();
    selection.startAt(2);
    selection.extend(order, 4);
    t.same([...selection.selected], [2, 3, 4]);
    selection.extend(order, 1);
    t.same([...selection.selected], [1, 2]);
    selection.toggle(5);
    selection.extend(order, 4);
    t.same([...selection.selected].sort(), [1, 2, 4, 5], "beside what was selected before");
    selection.keep(new Set([1, 4]));
    t.same([...selection.selected].sort(), [1, 4]);
    selection.extend([1, 4], 4, 4);
    t.same([...selection.selected].sort(), [1, 4]);
    t.end();
  },
);
