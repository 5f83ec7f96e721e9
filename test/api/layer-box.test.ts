import t from "tap";
import { addObject, makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** The box of a layer, by itself. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { line-width: 1; }");
const box = (path: string) => server.api("GET", `m/layers/${path}`);

t.test("a layer without geometry has none", async (t) => {
  const answer = await box("a/bbox/");
  t.equal(answer.status, 200);
  t.equal(answer.json, null);
});

t.test("it holds Lat, Lon in degrees and y, x in metres, and follows edits at once", async (t) => {
  await addObject(server, "a", { type: "Point", coordinates: [10, 50] }, { map: "m" });
  await addObject(server, "a", { type: "Point", coordinates: [-20, 60] }, { map: "m" });
  t.same((await box("a/bbox/")).json, { sw: [50, -20], ne: [60, 10] });
  const metres = (await box("a/bbox/?bboxSR=3857")).json;
  t.same(metres.sw.map(Math.round), [6446276, -2226390]);
  t.same(metres.ne.map(Math.round), [8399738, 1113195]);
  await addObject(server, "a", { type: "Point", coordinates: [11, 61] }, { map: "m" });
  t.same((await box("a/bbox/")).json, { sw: [50, -20], ne: [61, 11] });
});

t.test("what is no layer has no box, and other systems are refused", async (t) => {
  const token = await server.token("editor");
  await server.api("POST", "m/folders/", { token, body: { code: "f" } });
  t.equal((await box("f/bbox/")).status, 404);
  t.equal((await box("nothing/bbox/")).status, 404);
  t.equal((await box("a/bbox/?bboxSR=0")).status, 400);
});
