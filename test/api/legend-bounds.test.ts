import t from "tap";
import { classTexts, valueTexts } from "../../src/api/resources/legend-bounds.js";

/** What the lines of a legend say of the bounds of classes. */

const english = { own: "en", main: "en" };
const plain = { kind: "number" } as const;
const texts = (borders: readonly number[], format: object = {}, languages = english) =>
  classTexts(borders, { ...plain, ...format }, languages);

t.test("each bound is in one class: the upper one, and the least value in the first", async (t) => {
  t.same(texts([900, 30_000, 37_500, 150_000]), ["900 – 30,000", "> 30,000 – 37,500", "> 37,500 – 150,000"]);
  t.same(texts([0, 0, 10]), ["0", "> 0 – 10"], "a class of one value");
  t.same(texts([7, 7]), ["7"]);
});

t.test("all have the same decimals, and the ends round outwards", async (t) => {
  t.same(texts([0, 2.5, 10, 12.75, 20]), [
    "0.00 – 2.50",
    "> 2.50 – 10.00",
    "> 10.00 – 12.75",
    "> 12.75 – 20.00",
  ]);
  t.same(texts([0.3714, 10, 20, 30.123]), ["0 – 10", "> 10 – 20", "> 20 – 31"]);
  t.same(texts([12.3, 12.5, 12.7]), ["12.3 – 12.5", "> 12.5 – 12.7"], "what is exact stays");
  t.same(texts([0, 0.1 + 0.2, 0.9]), ["0.0 – 0.3", "> 0.3 – 0.9"], "no more than tells classes apart");
  t.same(texts([0, 30_000.5, 40_000]), ["0.0 – 30,000.5", "> 30,000.5 – 40,000.0"]);
  t.same(texts([0.137146234, 99.9]), ["0.1 – 99.9"], "of one class those of its width");
  t.same(texts([1e-9, 2e-9, 3e-9]), ["0.000000001 – 0.000000002", "> 0.000000002 – 0.000000003"]);
});

t.test("a format's decimals count, but more are written where it would hide a bound", async (t) => {
  const euros = { decimals: 1, prefix: "- ", suffix: " €" };
  t.same(texts([0, 5, 10], euros), ["- 0.0 € – - 5.0 €", "> - 5.0 € – - 10.0 €"]);
  t.same(texts([0, 0.25, 0.5], euros), ["- 0.00 € – - 0.25 €", "> - 0.25 € – - 0.50 €"]);
});

t.test("negative numbers have a minus, and a word between them", async (t) => {
  const borders = [-20.5, -10, 0, 10];
  t.same(texts(borders), ["−21 to −10", "> −10 to 0", "> 0 to 10"]);
  const word = (language: string) => texts(borders, {}, { own: language, main: "en" })[1];
  t.same(["ru", "de", "fr", "es", "pt_BR", "zz"].map(word), [
    "> −10 до 0",
    "> −10 bis 0",
    "> −10 à 0",
    "> −10 a 0",
    "> −10 … 0",
    "> −10 to 0",
  ]);
  t.same(texts([-0.4, 10]), ["−0.4 to 10.0"]);
  t.same(texts([-5, 5], { prefix: "t-" }), ["t-−5 to t-5"], "what stands before them stays");
});

t.test("single values have the same decimals, too", async (t) => {
  t.same(valueTexts([0.5, 2.5, 10], plain, english), ["0.5", "2.5", "10.0"]);
  t.same(valueTexts([7_500, 40_000], plain, english), ["7,500", "40,000"]);
  t.same(valueTexts([-5, 10.25], plain, english), ["−5.00", "10.25"]);
  t.same(valueTexts([2 / 3], plain, english), ["0.6666667"]);
  t.same(valueTexts([], plain, english), []);
});

t.test("numbers of any size are written", async (t) => {
  for (const borders of [
    [-1.7e308, 0, 1.7e308],
    [5e-324, 1e-300, 1e300],
    [0, 0, 0],
  ])
    for (const text of texts(borders)) t.match(text, /\d/);
});
