import t from "tap";
import { didYouMean } from "../src/near-name.js";

/** Names that were meant by misspelt ones. */

t.test("the nearest name is told, and none that is not like it", (t) => {
  const columns = ["height", "species", "name_en", "id"];
  for (const [given, end] of [
    ["hight", "; did you mean height?"],
    ["Speceis", "; did you mean species?"],
    ["name", "; did you mean name_en?"],
    ["if", "; did you mean id?"],
    ["xy", "."],
    ["diameter", "."],
    ["x".repeat(10_000), "."],
  ])
    t.equal(didYouMean(given!, columns), end, given!.slice(0, 20));
  t.equal(didYouMean("diameter", columns, ""), "");
  t.end();
});
