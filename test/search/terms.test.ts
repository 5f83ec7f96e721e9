import t from "tap";
import { isOpen, rarestFirst, sureTerms, wholeTerms } from "../../src/search/terms.js";

t.test("signs and characters of scripts without spaces are sure, with what stands beside them", async (t) => {
  for (const [needle, terms] of [
    ["street", []],
    [" ul", []],
    [" %", ["%"]],
    [" - -", ["-", "- -"]],
    ["100 %", ["%", "100 %"]],
    [" ul / 5", ["/", "l /", "/ 5"]],
    ["( north )", ["(", "( nor", ")", "rth )"]],
    [" 朝 阳 区", ["朝", "阳", "朝 阳", "区", "阳 区"]],
    [" 5 路", ["路", "5 路"]],
    ["e\u0301tage", []],
  ] as const) {
    t.same(sureTerms([needle]), terms, needle);
  }
  t.same(wholeTerms(["100 %", "street"]), ["100", "%", "100 %", "street"]);
  t.ok(
    sureTerms(Array.from({ length: 200 }, (_, i) => String.fromCodePoint(0x4e00 + i))).length < 100,
    "so many at most",
  );
});

t.test("a word that may go on is open", async (t) => {
  t.same(["street", " ul", "100 %"].map(isOpen), [true, true, true]);
  t.same([" %", " - -", " 朝 阳"].map(isOpen), [false, false, false]);
});

t.test("the rarest needles come first, of equal ones the longest", async (t) => {
  const shares = new Map([
    ["street", 0.4],
    ["road", 0.2],
    [",", 0.5],
  ]);
  t.same(rarestFirst(["street", "road", "avenue", "lane", "paris ,", "street ,"], shares), [
    "paris ,",
    "avenue",
    "lane",
    "road",
    "street ,",
    "street",
  ]);
});
