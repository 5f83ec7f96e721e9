import t from "tap";
import { estimateOf } from "../../src/search/estimate.js";
import { needsTrigrams, requiredTerms } from "../../src/search/terms.js";

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
    t.same(requiredTerms([needle]), terms, needle);
  }
  t.ok(
    requiredTerms(Array.from({ length: 200 }, (_, i) => String.fromCodePoint(0x4e00 + i))).length < 100,
    "so many at most",
  );
});

t.test("a word that may go on is open", async (t) => {
  t.same(["street", " ul", "100 %"].map(needsTrigrams), [true, true, true]);
  t.same([" %", " - -", " 朝 阳"].map(needsTrigrams), [false, false, false]);
});

t.test(
  "of what planners expect of needles follows how many rows have all or some; the rarest come first",
  async (t) => {
    const { needles, all, some } = estimateOf(
      ["street", "road", "lane", "paris ,"],
      [400, 200, 200, 10],
      1_000,
    );
    t.same(needles, ["paris ,", "road", "lane", "street"]);
    t.equal(Math.round(all * 1_000), 160);
    t.equal(Math.round(some * 10), 6_198);
    t.equal(estimateOf([" ,", "street"], [900, 400], 1_000).some, 400, "signs beside words do not count");
    t.equal(estimateOf([" ,"], [900], 1_000).some, 900, "signs alone do");
    t.same(estimateOf(["new", "old"], [], 0), { needles: ["new", "old"], all: 0, some: 0 });
  },
);
