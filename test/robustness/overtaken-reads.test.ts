import t from "tap";
import { deleteAtEachStatement, overtakenBench } from "./overtaken.bench.support.js";
import { cases } from "./overtaken-cases.support.js";

/** Layers that are deleted at the worst moments of a request that reads: before each of its statements. */

const bench = await overtakenBench();
t.teardown(() => bench.stop());

t.test("a layer that is deleted before any statement of a reading is not found, or was still there", (t) =>
  deleteAtEachStatement(
    t,
    bench,
    cases.filter(({ method }) => method === "GET"),
  ),
);
