import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import { png } from "../../src/tiles/formats.js";
import type { MissingLayer } from "../../src/tiles/missing-layer.js";
import { addObject, makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Plans with fewer layers, as when one cannot be drawn. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
const styles = Array.from(
  { length: 60 },
  (_, n) => `::a${n} { marker-width: ${1 + n}; marker-allow-overlap: true; }`,
);
await makeStyledLayer(server, "m", "dots", `#dots { ${styles.join(" ")} }`);
const labels =
  "#labels { text-name: [svc_id]; text-face-name: 'DejaVu Sans Book'; text-size: 11; text-fill: #000; }";
const { id } = await makeStyledLayer(server, "m", "labels", labels);
for (const layer of ["dots", "labels"])
  await addObject(server, layer, { type: "Point", coordinates: [1, 1] }, { map: "m" });

t.test("what is drawn otherwise without labels is made in pieces, once for all who wait", async (t) => {
  const { catalog, planner, slices } = server.nodes[0]!.services;
  let pauses = 0;
  const begin = slices.begin.bind(slices);
  slices.begin = (...owner) => {
    const pause = begin(...owner);
    return async () => {
      pauses++;
      await pause();
    };
  };
  const map = await catalog.map("p", "m");
  const plan = await planner.plan(map, publicCaller, {
    ...{ coord: { z: 3, x: 4, y: 3 }, base: false, layers: undefined, language: undefined, scale: 1 },
    format: png,
    quality: 0,
  });
  t.ok(plan.collides);
  const missing: MissingLayer = { id, code: "labels", cause: "failure", reason: undefined };
  pauses = 0;
  const [one, other] = await Promise.all([plan.without([missing]), plan.without([missing])]);
  t.ok(one === other, "once");
  t.equal(one.collides, false, "keeps nothing clear");
  t.ok(pauses > styles.length, `${pauses} pauses`);
  const again = await (await plan.without([missing])).without([{ ...missing, id: -1 }]);
  t.equal(again, await one.without([{ ...missing, id: -1 }]), "of a plan with fewer layers, too");
});
