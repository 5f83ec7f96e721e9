import t from "tap";
import { deleteLayer } from "../../src/catalog/layers.js";
import { deleteMap, findMapId } from "../../src/catalog/maps.js";
import { overtakenBench } from "./overtaken.bench.support.js";
import { cases } from "./overtaken-cases.support.js";

/** Requests that wait for the locks of somebody who deletes what they name. */

const bench = await overtakenBench();
t.teardown(() => bench.stop());

t.test("a request that waits for who deletes the layer finds none", async (t) => {
  let waits = 0;
  for (const at of cases) {
    const world = await bench.makeWorld(at);
    const { mapId, layerId } = world;
    const { answer, waited } = await bench.awaitRival(at, world, (client) =>
      deleteLayer(client, mapId, layerId),
    );
    const isGone = waited && at.path.includes(":layer");
    t.ok(
      answer.status === 404 || (!isGone && answer.status === at.ok),
      `${at.name}: ${waited ? "waited, " : ""}${answer.status} ${answer.text}`,
    );
    if (waited) waits++;
  }
  // Those that only read find the layer's table, which is removed behind the deletion.
  const writes = cases.filter(({ method }) => method !== "GET").length;
  t.ok(waits > writes / 2, `${waits} waited; there are ${writes} writes`);
});

t.test("a request that waits for who deletes the map finds none", async (t) => {
  for (const at of cases) {
    const world = await bench.makeWorld(at);
    const { answer, waited } = await bench.awaitRival(at, world, async (client) =>
      deleteMap(client, await findMapId(client, bench.project.id, world.map)),
    );
    t.ok(
      answer.status === 404 || (!waited && answer.status === at.ok),
      `${at.name}: ${waited ? "waited, " : ""}${answer.status} ${answer.text}`,
    );
  }
});
