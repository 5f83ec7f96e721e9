import t from "tap";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Notifications and messages of other nodes that say nothing sensible, as of another version or by another program. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { redis, config } = server.nodes[0]!.services;

const payloads = (layer: number): string[] => [
  "",
  " ",
  "L",
  "L x",
  `L ${layer}`,
  `L ${layer} 1`,
  `L ${layer} NaN NaN *`,
  `L ${layer} 1e400 -1e400 1,2,3`,
  `L ${layer} 5 4 a,b,c,d`,
  `L ${layer} 5 4 ${"1,".repeat(1_500)}`,
  `L ${layer} 5 4 * /`,
  `L ${layer} 5 4 * nobody/`,
  "L __proto__ 5 4 *",
  "L -1 5 4 *",
  "M",
  "M x",
  "M 1e400",
  "P",
  "P __proto__",
  "B",
  "B x",
  "B /",
  "N",
  "D",
  "Q",
  "N nobody",
  "D nobody",
  "Q nobody",
  "K",
  "K nobody",
  "K nobody somebody 1 2 3",
  "Z 1 2 3",
  "{}",
  "\u{1f5fa} L",
  "x".repeat(7_900),
];

t.test("damaged messages end no node, and edits are seen", async (t) => {
  await makeMap(server, "m");
  const { id } = await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #000; }");
  const tile = async (node: number) =>
    Buffer.from(
      await (await fetch(tileUrl(server, "m", { lon: 10, lat: 10, z: 5 }, "&base=0", node))).arrayBuffer(),
    ).toString("base64");
  const empty = await tile(0);
  t.equal(await tile(1), empty);
  const ended: string[] = [];
  const note = (error: unknown) => ended.push(String(error));
  process.on("uncaughtException", note);
  process.on("unhandledRejection", note);
  t.teardown(() => {
    process.removeListener("uncaughtException", note);
    process.removeListener("unhandledRejection", note);
  });
  for (const payload of payloads(id)) {
    await server.sql.query("select pg_notify('mapwright', $1)", [payload]);
    for (const channel of await redis.pubsub("CHANNELS", `${config.redisPrefix}*`))
      await redis.publish(channel as string, payload);
  }
  await addObject(server, "l", square(9, 9, 3), { map: "m" });
  const drawn = await Promise.all([tile(0), tile(1)]);
  t.not(drawn[0], empty);
  t.equal(drawn[1], drawn[0]);
  await addObject(server, "l", square(2, 2, 2), { map: "m", node: 1 });
  t.not(await tile(0), drawn[0]);
  t.same(ended, []);
});
