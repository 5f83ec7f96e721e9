import t from "tap";
import { hasOtherNames, listed, readOtherNames } from "../../src/demo/other-names.js";
import { catalogue, putCatalogue as put } from "./catalogues.support.js";

const never = (): never => {
  throw new Error("all can be read");
};

t.test("names come by language, and none where there are no files", async (t) => {
  const folder = t.testdir();
  t.equal(readOtherNames(never, folder).size, 0);
  t.equal(hasOtherNames(folder), false);
  put(folder, "ru", catalogue({ "3067696": "Прага", "2886242": "Кёльн" }));
  put(folder, "de", catalogue({ "3067696": "Prag" }));
  put(folder, "sv", catalogue({ "3067696": "Prag" }));
  const names = readOtherNames(never, folder);
  t.equal(hasOtherNames(folder), true);
  t.same(
    [...names.get(3067696)!],
    [
      ["de", "Prag"],
      ["sv", "Prag"],
      ["ru", "Прага"],
    ],
  );
  t.same([...names.get(2886242)!], [["ru", "Кёльн"]]);
});

t.test("a file that cannot be read leaves out its language alone", async (t) => {
  const folder = t.testdir();
  put(folder, "de", catalogue({ "3067696": "Prag" }).subarray(0, 60));
  put(folder, "ru", catalogue({ "3067696": "Прага" }));
  const told: string[] = [];
  const names = readOtherNames((path, error) => told.push(`${path}: ${error}`), folder);
  t.same([...names.get(3067696)!.values()], ["Прага"]);
  t.match(told, [/de\/LC_MESSAGES\/geonames\.mo: .*cut/]);
  t.equal(told.length, 1);
});

t.test("as one text they leave out what is known, and end before they are too many", async (t) => {
  t.equal(listed(["Köln", "Köln", "Кёльн"], "Cologne"), "Köln; Кёльн");
  t.equal(listed(["Berlin"], "Berlin"), null);
  t.equal(listed([], "Berlin"), null);
  const many = listed(
    Array.from({ length: 1_000 }, (_, index) => `name ${index}`),
    "none",
  )!;
  t.ok(many.length <= 500 && many.length > 480);
  t.match(many, /^name 0; name 1; .*; name \d+$/);
});
