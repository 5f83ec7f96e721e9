import t from "tap";
import { defaultStyle, hueCount, hueOf, nextHue } from "../../src/style/default-style.js";
import { readDefault } from "../../src/style/read-default.js";
import { compileStyle } from "../../workers/render/compile.js";

const kinds = ["Point", "LineString", "Polygon", "Unknown"] as const;
const label = { column: "name", fromZoom: 7 };

t.test("every default style compiles, and is known as one of its kind", async (t) => {
  for (const kind of kinds)
    for (const dense of [false, true])
      for (const look of [
        { hue: 1, dense },
        { hue: hueCount - 1, dense, label },
        { hue: 2, dense, room: 0, label },
        { hue: 3, dense, room: 3 },
        { hue: 4, dense, room: 12, label },
        {
          hue: 0,
          dense,
          label: { ...label, importance: { column: "naselenie", least: [100, 2_000_000] } },
        },
      ]) {
        const css = defaultStyle(kind, look);
        t.match(compileStyle({ mapStyle: "", layerStyle: css, layerCode: "l", deadlineMs: 20_000 }), {
          ok: true,
        });
        t.equal(defaultStyle(kind, readDefault(css, kind)), css);
        t.match(readDefault(css, kind), { hue: look.hue, label: look.label });
        t.equal(readDefault(css.replace("width: ", "width: 1"), kind), undefined, "somebody has changed it");
        for (const other of kinds) if (other !== kind) t.equal(readDefault(css, other), undefined);
      }
  t.equal(readDefault("", "Point"), undefined);
});

t.test("labels of points and areas pass the width at which they are wrapped by no word", (t) => {
  for (const kind of ["Point", "Polygon"] as const)
    t.match(defaultStyle(kind, { label }), /text-wrap-width: \d+;\n\s*text-wrap-before: true;/);
  t.end();
});

t.test("layers have the colours in turn, and those that are free again first", async (t) => {
  const styles: string[] = [];
  for (let turn = 0; turn < 2 * hueCount; turn++) {
    const hue = nextHue(styles);
    t.equal(hue, turn % hueCount);
    styles.unshift(defaultStyle("Point", { hue }));
  }
  const left = styles.slice(0, hueCount).filter((css) => hueOf(css) !== 2);
  t.equal(nextHue(["#x { line-width: 1; }", ...left]), 2);
});
