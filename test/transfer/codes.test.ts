import t from "tap";
import { columnCodes } from "../../src/import/codes.js";

t.test("names become codes of Latin letters, digits and underscores", async (t) => {
  const cases: Record<string, string> = {
    "Щёлково-2": "Shchelkovo_2",
    "Größe (m²)": "Grosse_m2",
    Ærø: "AEro".replace("AE", "Ae"),
    Ελλάδα: "Ellada",
    Їжак: "Izhak",
    名前: "field",
    "  spaced  out ": "spaced_out",
    "100%": "_100",
    "": "field",
    ﬁne: "fine",
  };
  for (const [name, code] of Object.entries(cases)) t.strictSame(columnCodes([name], []), [code], name);
});

t.test("codes are valid, unique and the same each time", async (t) => {
  const names = [
    "a",
    "A",
    "а",
    "a b",
    "a_b",
    "a-b",
    "x".repeat(60),
    "x".repeat(61),
    "svc_id",
    "geom",
    "__proto__",
    "constructor",
    "42",
    "名",
    "前",
    "",
  ];
  const codes = columnCodes(names, ["b"]);
  t.equal(new Set(codes).size, names.length);
  for (const code of codes) t.match(code, /^[A-Za-z_][A-Za-z0-9_]{0,43}$/);
  t.strictSame(columnCodes(names, ["b"]), codes);
  t.notOk(codes.includes("svc_id") || codes.includes("geom") || codes.includes("__proto__"));
  t.equal(codes[4], "a_b", "a name that is a code keeps it, although another would have become it first");
  t.equal(codes[11], "constructor");
});
