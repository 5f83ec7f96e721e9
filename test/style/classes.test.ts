import t from "tap";
import type { StyleClass } from "../../src/style/model.js";
import { drawnStyles } from "../../src/style/symbol.js";
import { compileStyle } from "../../workers/render/compile.js";

/** The classes of legends, as they come with compiled styles. */

function compiled(layerStyle: string) {
  const response = compileStyle({ mapStyle: "", layerStyle, layerCode: "l", deadlineMs: 600_000 });
  if (!response.ok) throw new Error(response.error);
  const { styles, classes } = response.style;
  const shown = ({ drawn }: StyleClass) =>
    drawnStyles(styles, drawn).map(({ name, rules }) => [
      name,
      ...rules.flatMap(({ symbolizers }) => symbolizers.map(({ attributes }) => attributes.stroke)),
    ]);
  return { styles, classes: classes!.classes, more: classes!.more, shown };
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

t.test("a class is what all attachments draw of its objects", async (t) => {
  const { classes, more, shown } =
    compiled(`#l::below { line-color: #111111; [kind = 'a'] { line-color: #222222; } }
    #l { [kind = 'a'][size > 5] { line-color: #333333; } [kind = 'b'] { line-color: #444444; } }
    #l::above { [kind = 'b'] { line-color: #555555; line-width: 3; } [size > 5][zoom < 4] { line-color: #666666; } }`);
  t.same(
    classes.map((one) => [one.filter, shown(one), one.zooms]),
    [
      [undefined, [["below", "#111111"]], undefined],
      ["[kind] = 'a'", [["below", "#222222"]], undefined],
      [
        "[kind] = 'b'",
        [
          ["below", "#111111"],
          ["", "#444444"],
          ["above", "#555555"],
        ],
        undefined,
      ],
      [
        "([kind] = 'a') and ([size] > 5)",
        [
          ["below", "#222222"],
          ["", "#333333"],
          ["above", "#666666"],
        ],
        undefined,
      ],
      [
        "[size] > 5",
        [
          ["below", "#111111"],
          ["above", "#666666"],
        ],
        [0, 3],
      ],
      [
        "([size] > 5) and ([kind] = 'b')",
        [
          ["below", "#111111"],
          ["", "#444444"],
          ["above", "#666666"],
        ],
        [0, 3],
      ],
    ],
  );
  t.equal(more, 0);
});

t.test("what only labels tell apart is one class, unless there is nothing but labels", (t) => {
  const label = (filter: string) =>
    `#l::names${filter} { text-name: [kind]; text-face-name: 'DejaVu Sans Book'; }`;
  const labels = `${label("[size > 5]")} ${label("")} #l::names[size > 5] { text-size: 12; }`;
  t.same(
    compiled(`#l { line-color: #111111; } ${labels}`).classes.map(({ filter }) => filter),
    [undefined],
  );
  t.same(
    compiled(labels).classes.map(({ filter }) => filter),
    [undefined, "[size] > 5"],
  );
  t.end();
});

t.test("numbers, texts, truth and null are told apart", async (t) => {
  const { classes, shown } =
    compiled(`#l { [n = 1] { line-color: #111111; } [k = 'x'] { line-color: #222222; }
    [n = null] { line-color: #333333; } [n = true] { line-color: #444444; } }
    #l::above { [n = 1] { line-color: #aaaaaa; } [n != 1] { line-color: #bbbbbb; } [k = 'x'] { line-color: #cccccc; } }`);
  const found = new Map(classes.map((one) => [one.filter, shown(one).map(([, colour]) => colour)]));
  t.same(found.get("[n] = 1"), ["#111111", "#aaaaaa"]);
  t.same(found.get("[k] = 'x'"), ["#222222", "#cccccc"]);
  t.same(found.get("[n] = null"), ["#333333", "#bbbbbb"]);
  t.same(found.get("[n] = true"), ["#444444", "#bbbbbb"]);
});

t.test(
  "of hundreds of attachments with filters of their own each class draws all that it takes",
  async (t) => {
    const css = times(
      300,
      (n) =>
        `#l::a${n} { [a = ${n}] { line-color: #00ff00; } [b = ${n}] { line-width: 2; } line-color: #ff0000; }`,
    );
    const { classes, more, shown } = compiled(css.join(" "));
    t.equal(classes.length + more, 901, "of each filter, and of two together");
    t.equal(classes.length, 100);
    const first = classes.find(({ filter }) => filter === "[a] = 299");
    const last = classes.find(({ filter }) => filter === "[a] = 1");
    t.equal(first, undefined, "the first ones are listed");
    t.equal(shown(last!).length, 200, "of very many the uppermost");
    t.same(shown(classes[0]!).at(-1), ["a299", "#ff0000"]);
  },
);

t.test("what comes with a style is bounded, whatever it says", async (t) => {
  const long = "x".repeat(1_900);
  const styles = {
    texts: times(400, (n) => `#l::a${n} { [a = '${n}${long}'] { line-color: #00ff00; } }`).join(" "),
    labels: `#l { [a = 1] { line-width: 1; } ${times(100, (n) => `x${n}/text-name: "'${long}'"; x${n}/text-face-name: 'DejaVu Sans Book'; x${n}/text-size: 10;`).join(" ")} }`,
    zooms: times(
      20,
      (n) =>
        `#l::z${n} { ${times(22, (z) => `[zoom = ${z}] { line-width: ${z + 1}; [k = ${n}] { line-color: #00ff00; } }`).join(" ")} }`,
    ).join(" "),
  };
  for (const [name, css] of Object.entries(styles)) {
    const { classes, styles } = compiled(css);
    t.ok(classes.length > 0, name);
    t.ok(JSON.stringify(classes).length < 1_000_000, `${name}: ${JSON.stringify(classes).length}`);
    for (const one of classes) {
      const drawn = JSON.stringify(drawnStyles(styles, one.drawn)).length;
      t.ok(drawn < 70_000, `${name}: a symbol of ${drawn} characters`);
    }
  }
});
