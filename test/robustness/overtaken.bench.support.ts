import type { Test } from "tap";
import { createLayer, deleteLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import { removePortion } from "../../src/catalog/removal.js";
import type { ProjectState } from "../../src/catalog/state.js";
import { square } from "../support/maps.js";
import { startServer, type TestServer } from "../support/server.js";
import {
  type Change,
  holdNotifications,
  interceptStatements,
  Rival,
  startIntercepted,
} from "./overtaken.support.js";
import { type Case, visualSettings } from "./overtaken-cases.support.js";

/** Requests beside a rival who changes what they name, which the node that answers them does not hear of meanwhile. */

/** A map with a layer that has an object and whatever else operations ask for. */
export interface World {
  readonly map: string;
  readonly mapId: number;
  readonly layerId: number;
  /** By the names that routes have for their parts. */
  readonly parts: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  /** JSON or a page; "" when it is neither. */
  readonly text: string;
}

export interface OvertakenBench {
  readonly server: TestServer;
  readonly project: ProjectState;
  makeWorld(at: Case): Promise<World>;
  ask(at: Case, world: World, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Number of statements that a request sends when nobody is in its way. */
  statementsOf(at: Case): Promise<number>;
  /** Asks while a rival makes a change before the given statement of the request; `made` tells whether that came first. */
  overtake(
    at: Case,
    world: World,
    change: Change,
    moment: number,
  ): Promise<{ answer: Answer; made: boolean }>;
  /** Asks while a rival has made a change and not committed it, until the request waits for that or is answered. */
  awaitRival(at: Case, world: World, change: Change): Promise<{ answer: Answer; waited: boolean }>;
  stop(): Promise<void>;
}

const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const pause = () => new Promise((resolve) => setTimeout(resolve, 2));

export async function overtakenBench(): Promise<OvertakenBench> {
  const server = await startIntercepted(() => startServer());
  const [node] = server.nodes;
  const { services } = node!;
  const { db } = services;
  const token = await server.token("admin");
  const project = await services.catalog.project("p");
  const [owner] = (await server.sql.query("select id from account where login = 'admin'")).rows;
  const rival = await Rival.connect(server);
  let worlds = 0;

  const must = async (method: string, path: string, body?: unknown) => {
    const answer = await server.api(method, path, { token, body });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json;
  };

  const attachFile = async (object: string): Promise<{ id: number; uuid: string }> => {
    const body = new FormData();
    body.set("field", "f");
    body.set("file", new File([picture as never], "a.png"));
    const headers = { "x-token": token };
    const answer = await fetch(`${server.url}/api/2.8/p/${object}/files/`, { method: "POST", headers, body });
    return (await answer.json()) as { id: number; uuid: string };
  };

  /** A layer with the columns c, n and f, an object with c = x, and a constraint on c. */
  const makeLayer = async (mapId: number, code: string): Promise<{ id: number; object: string }> => {
    const { id } = await createLayer(db, mapId, {
      code,
      ownerId: owner.id,
      columns: [
        { code: "c", type: "string" },
        { code: "n", type: "number" },
        { code: "f", type: "file" },
      ],
    });
    const { rows } = await server.sql.query(
      `insert into column_constraint (layer_id, type, column_ids, definition, sort)
       select layer_id, 'enum', array[id], '["x", "y"]', 1 from layer_column where layer_id = $1 and code = 'c'
       returning column_ids[1] as c`,
      [id],
    );
    const made = await server.sql.query(
      `insert into layers.l${id} (c${rows[0].c}, geom) values ('x', st_setsrid(st_point(1, 2), 4326)) returning svc_id`,
    );
    await services.changes.propagate();
    return { id, object: String(made.rows[0].svc_id) };
  };

  const makeWorld: OvertakenBench["makeWorld"] = async ({ path, wish: { kind = "layer" } }) => {
    const map = `w${++worlds}`;
    const mapId = await createMap(db, project.id, { code: map });
    const code = "l";
    const made = await makeLayer(mapId, code);
    const parts: Record<string, string> = {
      project: "p",
      map,
      layer: code,
      object: made.object,
      column: "c",
    };
    let layerId = made.id;
    if (kind !== "layer") {
      const derived = await must("POST", `${map}/layers/`, { type: kind, source: { layer: code } });
      parts.layer = derived.code;
      layerId = derived.id;
    } else if (/\/(visualization|legend)\//.test(path))
      await must("PUT", `${map}/layers/${code}/visualization/`, { visualSettings });
    if (/\/(split|merge)\/$/.test(path)) {
      const body = { fields: { c: "x" }, geom: square(0, 0, 10) };
      const areas = [1, 2].map(() => must("POST", `${map}/layers/${code}/objects/`, body));
      const ids = (await Promise.all(areas)).map(({ id }) => id);
      parts.object = String(ids[0]);
      parts.ids = JSON.stringify(ids);
    }
    if (path.includes(":folder")) parts.folder = (await must("POST", `${map}/folders/`, {})).code;
    if (path.includes(":file")) {
      const file = await attachFile(`${map}/layers/${code}/objects/${made.object}`);
      parts.file = path.includes("/files/") ? String(file.id) : file.uuid;
    }
    if (path.includes("/history/:entry")) {
      await must("POST", `${map}/layers/${code}/objects/`, { fields: { c: "x" } });
      parts.entry = String((await must("GET", `${map}/layers/${code}/history/?limit=1`)).entries[0].id);
    }
    // What the node has read by now is what it has in mind when the request comes.
    await services.catalog.map("p", map);
    return { map, mapId, layerId, parts };
  };

  const ask: OvertakenBench["ask"] = async ({ method, path, wish }, { parts }, headers = {}) => {
    const address = path
      .replace("/2.8/", `/${wish.version ?? "2.8"}/`)
      .replace(/:(\w+)/g, (_, name: string) => parts[name]!);
    const { query, body } = wish;
    const sent =
      body === undefined || body instanceof FormData
        ? body
        : JSON.stringify(body).replaceAll("$layer", parts.layer!).replaceAll('"$ids"', parts.ids!);
    const answer = await fetch(`${server.url}${address}${query ? `?${query}` : ""}`, {
      method,
      headers: {
        "x-token": token,
        ...headers,
        ...(typeof sent === "string" ? { "content-type": "application/json" } : {}),
      },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await answer.text();
    const isText = /json|html/.test(answer.headers.get("content-type") ?? "");
    return { status: answer.status, text: isText ? text.slice(0, 500) : "" };
  };

  return {
    server,
    project,
    makeWorld,
    ask,
    statementsOf: async (at) => {
      let count = 0;
      const world = await makeWorld(at);
      const stop = interceptStatements(db, async (statement) => {
        count = statement;
      });
      const answer = await ask(at, world);
      stop();
      if (answer.status !== at.ok) throw new Error(`${at.name}: ${answer.status} ${answer.text}`);
      return count;
    },
    overtake: async (at, world, change, moment) => {
      const release = holdNotifications(node!);
      let making: Promise<boolean> | undefined;
      const stop = interceptStatements(db, async (statement) => {
        if (statement !== moment) return;
        let over = false;
        making = rival.make(change).finally(() => {
          over = true;
        });
        while (!over && !(await rival.isBlocked())) await pause();
      });
      try {
        const answer = await ask(at, world);
        const made = (await making) === true;
        // One of two that wait for each other is told to begin again: here the rival.
        if (!made) await rival.make(change);
        return { answer, made };
      } finally {
        stop();
        release();
      }
    },
    awaitRival: async (at, world, change) => {
      const release = holdNotifications(node!);
      let asking: Promise<Answer> | undefined;
      let waited = false;
      try {
        await rival.make(change, async () => {
          let answered = false;
          asking = ask(at, world).finally(() => {
            answered = true;
          });
          while (!answered && !waited) {
            await pause();
            waited = await rival.blocks();
          }
        });
        return { answer: await asking!, waited };
      } finally {
        release();
      }
    },
    stop: async () => {
      await rival.end();
      await server.stop();
    },
  };
}

/** Deletes the layer of each request before each of its statements, with its table where the request does not hold that. */
export async function deleteAtEachStatement(
  t: Test,
  bench: OvertakenBench,
  requests: readonly Case[],
): Promise<void> {
  for (const at of requests.filter(({ wish }) => !wish.isBrief)) {
    const count = await bench.statementsOf(at);
    for (let moment = 1; moment <= count; moment++) {
      const world = await bench.makeWorld(at);
      let isRemoved = false;
      const deletion: Change = async (client) => {
        await deleteLayer(client, world.mapId, world.layerId);
        isRemoved = await removeNow(client);
      };
      const { answer, made } = await bench.overtake(at, world, deletion, moment);
      const isGone = moment === 1 && made && isRemoved && at.path.includes(":layer");
      t.ok(
        answer.status === 404 || (!isGone && answer.status === at.ok),
        `${at.name}: before statement ${moment} of ${count}: ${answer.status} ${answer.text}`,
      );
    }
  }
}

/** Removes what was deleted unless somebody holds it. @returns whether nothing is left */
async function removeNow(client: Parameters<Change>[0]): Promise<boolean> {
  for (;;) {
    const { removed, left } = await removePortion(client);
    if (left === false) return true;
    // The node may be at it itself.
    if (left === undefined) await pause();
    else if (removed === 0) return false;
  }
}
