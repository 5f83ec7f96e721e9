import { isDeepStrictEqual } from "node:util";
import { startChild } from "./child.js";
import type { Context } from "./context.js";
import { fetchOne } from "./fetch.js";
import { load } from "./load.js";
import type { BareQueryRequest } from "./reference/http-query.js";
import type { Row } from "./report.js";
import { compare } from "./rounds.js";
import type { Server } from "./server.js";
import { throughputFigures } from "./throughput.js";

/** Answers of the product beside those of a bare handler that runs one statement for each. */

const connections = 50;

export interface Beside extends Omit<BareQueryRequest, "databaseUrl" | "connections"> {
  readonly measure: string;
  readonly gate: number;
  /** Asked for in turn, of either server; the handler does not look at them. */
  readonly paths: readonly string[];
}

/**
 * Both figures have the gate. That of CPU seconds counts the two serving processes alone; in wall-clock time both also
 * wait for the same load generator and, where they ask it, PostgreSQL, which brings them closer to each other.
 * @throws Error when the two give different answers to the first request
 */
export async function besideQuery(
  { world, size }: Context,
  server: Server,
  { measure, gate, paths, statement, values }: Beside,
): Promise<Row[]> {
  const { databaseUrl, databaseConnections } = world.config();
  const bare = startChild<BareQueryRequest, { port: number }>("reference/http-query.js");
  try {
    const asked = { databaseUrl, connections: databaseConnections, statement, values };
    const url = `http://127.0.0.1:${(await bare.ask(asked)).port}`;
    const round = (pid: number, address: string) => () =>
      load(pid, { url: address, connections, seconds: size.seconds, status: 200, paths });
    await sameAnswer(server.url, url, paths[0]!);
    return await compare(
      size,
      round(server.pid, server.url),
      [round(bare.pid, url)],
      throughputFigures(measure, "requests", { perCpuSecond: gate, perSecond: gate }),
    );
  } finally {
    await bare.stop();
  }
}

async function sameAnswer(ours: string, reference: string, path: string): Promise<void> {
  const [mine, theirs] = await Promise.all(
    [ours, reference].map(async (url) => (await fetchOne(url + path)).toString()),
  );
  if (isDeepStrictEqual(JSON.parse(mine!), JSON.parse(theirs!))) return;
  throw new Error(`${path} is ${mine} here, and ${theirs} of the bare handler.`);
}
