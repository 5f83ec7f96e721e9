import t from "tap";
import { projectPath } from "../../src/api/request/paths.js";
import { apiRoutes } from "../../src/api/routes.js";
import { testExamples } from "./page-examples.support.js";

/** The examples of the reference, which leave no operation out. */

/** What only a server of others at a public address would give: its refusal is all that an example can have. */
const refusedHere = `${projectPath}/link/`;

await testExamples("reference", (server) =>
  t.test("each route of the contract is used by an example", async (t) => {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    const used = new Set<string>();
    for (const [, labels = ""] of metrics.matchAll(/^mapwright_requests_total\{(.*)\} [1-9]/gm)) {
      const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
      // 499: the client left, as it has to where an answer does not end.
      const isUse = ["200", "499"].includes(label("status")) || label("route") === refusedHere;
      if (isUse) used.add(`${label("method")} ${label("route")}`);
    }
    const missing = apiRoutes
      .filter(({ path }) => path.startsWith(projectPath) || path.startsWith("/tms/"))
      .filter(({ methods, path }) => !methods.some((method) => used.has(`${method} ${path}`)))
      .map(({ methods, path }) => `${methods[0]} ${path.replace(`${projectPath}/`, "")}`);
    t.same(missing, []);
  }),
);
