import { z } from "zod";
import type { Reply, Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import { callerOf, usedToken, whoLooks } from "../request/caller.js";
import { type Input, type Operation, operation } from "../request/operation.js";
import { integer } from "../request/schema/parameters.js";
import { ruled } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { readableMap } from "./tile-answer.js";

/** What changes of a map while it is looked at. */

const headers = {
  "last-event-id": ruled(z.string().max(200), { blanks: [] })
    .meta({
      description: "The last event that was seen: what changed since comes first.",
      examples: ["1:4:7:1767225600000"],
    })
    .optional(),
};

const query = {
  recent: integer(
    "What changed in the last so many seconds comes first: for a page that asked for its tiles before it listened.",
    { least: 1, most: 600 },
  ).optional(),
  state: ruled(z.string().max(200), { blanks: [] })
    .meta({
      description:
        "`X-Map-State` of the layer tree that was read: when the map has changed since, `map` comes first.",
      examples: ["1:4:7"],
    })
    .optional(),
};

async function listen(
  request: Request,
  services: Services,
  input: Input<typeof query, undefined, typeof headers>,
): Promise<Reply> {
  const lastEventId = input.headers()["last-event-id"];
  const { recent, state } = input.query();
  const looking = whoLooks(services);
  // A key shows tiles, and keeps no stream.
  const find = () => readableMap(request, looking, { takesTileKey: false });
  const { caller } = await find();
  const chunks = services.mapEvents.listen({
    access: async () => {
      const found = await find();
      // What the public may see is answered without a session, for whatever reason: here it counts whether it has ended.
      if (caller.accountId !== null && found.caller.accountId === null)
        await callerOf(request, looking, found.map.project);
      return found;
    },
    client: caller.accountId === null ? networkOf(request.remoteAddress) : `a${caller.accountId}`,
    lastEventId,
    recentSeconds: recent,
    seenState: state,
    signal: request.signal,
  });
  return {
    kind: "stream",
    chunks,
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": usedToken(caller) ? "private, no-store" : "no-store",
      // nginx would collect them.
      "x-accel-buffering": "no",
    },
  };
}

export const mapChangeOperations: readonly Operation[] = [
  operation({
    id: "listenForChanges",
    tag: "Tiles",
    summary: "Hear of the changes of a map",
    details:
      "Server-Sent Events, as `EventSource` of browsers reads them, until the client leaves. `change` names the layers and the " +
      "areas that changed: boxes [west, south, east, north] in degrees, null = everywhere, none where only objects without a " +
      "place did; a tile that is asked for after the event shows the change, and symbols and labels may reach into tiles beside the area. `map`: layers, styles or rights " +
      "changed. `session`: the session has ended, and with it the events: listening, which a page does by itself, does not restart " +
      "its idle time. A line of a colon comes at least every 10 seconds.",
    methods: ["GET"],
    path: "/tms/:project/:map/changes/",
    headers,
    query,
    answer: {
      description: "The events.",
      content: { "text/event-stream": { type: "string" } },
    },
    refuses: [404],
    handle: listen,
  }),
];
