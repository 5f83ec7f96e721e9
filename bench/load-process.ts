import autocannon from "autocannon";
import { answerParent } from "./child.js";
import type { LoadRequest } from "./load.js";
import type { Done } from "./throughput.js";

/** The load generator in a process of its own: its CPU time is not the server's. */

answerParent<LoadRequest, Done>(async (request) => {
  const result = await autocannon({
    url: request.url,
    connections: request.connections,
    pipelining: 1,
    // A short round tells whether it runs, however busy the machine is: it ends when each connection has had its answers.
    ...(request.seconds < 1
      ? { amount: 2 * request.connections, sampleInt: 50 }
      : { duration: request.seconds }),
    ...(request.headers ? { headers: { ...request.headers } } : {}),
    ...(request.paths ? { requests: request.paths.map((path) => ({ path })) } : {}),
  });
  const expected = result.statusCodeStats?.[`${request.status}`]?.count ?? 0;
  if (result.errors > 0 || expected < result.requests.total) {
    throw new Error(
      `${result.requests.total} answers, ${expected} of them ${request.status}, ${result.errors} errors from ${request.url}`,
    );
  }
  return { count: result.requests.total, seconds: result.duration };
});
