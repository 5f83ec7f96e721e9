import { join } from "node:path";
import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import { valueColumns } from "../../src/features/column-sql.js";
import { createStatement } from "../../src/features/edit.js";
import { readFields } from "../../src/features/fields.js";
import { encodeGeometry } from "../../src/features/geometry.js";
import type { Statement } from "../../src/features/sql.js";
import { withCatalogue } from "../catalogue.js";
import { startChild } from "../child.js";
import type { Context } from "../context.js";
import { cpuSeconds, ownCpuSeconds } from "../cpu.js";
import { fetchOne } from "../fetch.js";
import { mapCode as projectCode } from "../import.js";
import { pgbench, statementScripts } from "../pgbench.js";
import type { PostsRequest } from "../posts.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { startServer } from "../server.js";
import { openSession } from "../sessions.js";
import { type Done, throughput, throughputFigures } from "../throughput.js";

/**
 * New objects over HTTP, beside pgbench with the same INSERT into the same table, so with the same triggers, by as
 * many clients. Besides the INSERT a request is a session to look up, values to check, and word of the change to
 * other nodes. CPU time is that of the server and Redis, or of pgbench, and in both cases of PostgreSQL.
 */

const code = "made";
const clients = 8;
/** Different objects. */
const objects = 50;
const warmUpSeconds = 8;
const redisPrefix = "bench-create:";

export async function createdByHttp(context: Context): Promise<Row[]> {
  const { world, size } = context;
  const { token, bodies, statements } = await prepare(context);
  const scripts = statementScripts(join(world.folder, "pgbench"), statements);
  const { databaseUrl } = world.config();
  const server = await startServer(world.config({ redisPrefix }), world.log);
  const { hostname: host, port } = new URL(server.url);
  const path = `/api/2.8/${projectCode}/${code}/layers/${code}/objects/`;
  const headers = { "content-type": "application/json", "x-token": token };
  const serving = () => ownCpuSeconds(server.pid) + cpuSeconds([world.postgresPid, world.redisPid]);
  const { seconds } = size;
  // pgbench knows whole seconds.
  const theirSeconds = Math.ceil(seconds);
  const posts = startChild<PostsRequest, Done>("posts.js");
  try {
    // A layer that somebody looks at: of others a node need not know what changes in them.
    await fetchOne(`${server.url}/tms/${projectCode}/${code}/0/0/0.png?base=0`);
    const ours = (length: number) => {
      const asked = { host, port: Number(port), path, headers, bodies, clients, seconds: length };
      return throughput(serving, () => posts.ask(asked));
    };
    // pgbench has ended before the time is read: it is among this process's children by then.
    const running = () => cpuSeconds([world.postgresPid]) + ownCpuSeconds(process.pid);
    const reference = () =>
      throughput(running, async () => {
        const { programs } = world;
        const asked = { programs, databaseUrl, clients, seconds: theirSeconds, scripts };
        const { perSecond } = await pgbench(asked);
        return { count: perSecond * theirSeconds, seconds: theirSeconds };
      });
    // Node compiles what has run some ten thousand times, which takes longer here than with what is only read.
    if (size.rounds > 1) await ours(warmUpSeconds);
    return await compare(
      size,
      () => ours(seconds),
      [reference],
      throughputFigures(`new object, beside pgbench (${clients} clients)`, "objects", { perSecond: 0.65 }),
    );
  } finally {
    await Promise.all([posts.stop(), server.stop()]);
  }
}

interface Prepared {
  readonly token: string;
  readonly bodies: readonly string[];
  /** The INSERT for each of the bodies. */
  readonly statements: readonly Statement[];
}

async function prepare({ world, tiles }: Context): Promise<Prepared> {
  return withCatalogue(world, async ({ db, project, map }) => {
    const present = await db.query("select from map where project_id = $1 and code = $2", [project.id, code]);
    if (present.length === 0) {
      await createLayer(db, await createMap(db, project.id, { code }), {
        code,
        geometryKind: "Point",
        columns: [
          { code: "name", type: "string" },
          { code: "population", type: "number" },
        ],
      });
    }
    const layer = (await map(code)).layers.get(code)!;
    await db.execute(`truncate layers.l${layer.id}`);
    const languages = { own: "en", main: "en" };
    const shape = { fields: valueColumns(layer), languages };
    const made = tiles(objects, 11).map(({ z, x, y }, index) => ({
      fields: { name: `Place ${index}`, population: 1000 * index },
      geom: { type: "Point", coordinates: [(x / 2 ** z) * 360 - 180, 80 - (y / 2 ** z) * 160] },
    }));
    const statements = made.map(({ fields, geom }) => {
      const assignments = readFields(layer, { fields, languages });
      const change = { assignments, geom: encodeGeometry(geom, { srid: 4326, kind: "Point" }), shape };
      const { text, values } = createStatement(layer, change);
      // As PostgreSQL reads them.
      return {
        text,
        values: values.map((value) => (Buffer.isBuffer(value) ? `\\x${value.toString("hex")}` : value)),
      };
    });
    const user = { login: "bench", role: "editor", prefix: redisPrefix } as const;
    const { token } = await openSession(world, { db, project }, user);
    return { token, bodies: made.map((object) => JSON.stringify(object)), statements };
  });
}
