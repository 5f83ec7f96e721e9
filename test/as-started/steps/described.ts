import type { Command } from "commander";
import { buildProgram } from "../../../src/commands/program.js";
import { project, type Step, type World } from "../world.js";

/** The last steps: whether the walk has come by everything that the program tells of itself. */

/** Of every operation: they have steps of their own. */
const common = new Set(["token", "f", "lng", "key"]);
/** `serve` is started with them by other tests: a walk starts one server. */
const ofOtherTests = new Set(["serve"]);
/** The same for all commands that have them. */
const ofAll = new Set(["--json", "--yes"]);

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
}

async function operationsOf(world: World): Promise<readonly Operation[]> {
  const { paths } = (await world.ask("GET", "/openapi.json")).json;
  const methods = new Set(["get", "put", "post", "patch", "delete"]);
  return Object.entries<any>(paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((method) => methods.has(method))
      .map((method) => ({
        method: method.toUpperCase(),
        path,
        query: (operations[method].parameters ?? [])
          .filter((parameter: any) => parameter.in === "query" && !common.has(parameter.name))
          .map(({ name }: any) => name),
      })),
  );
}

/** Names in the query of requests for the path. */
function givenTo(world: World, { method, path }: Operation): Set<string> {
  const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`);
  return new Set(
    world.requests
      .filter((request) => request.method === method && pattern.test(request.url.pathname))
      .flatMap(({ url }) => [...url.searchParams.keys()]),
  );
}

/** Commands without others below them. */
const leaves = (command: Command, above: readonly string[] = []): [string, Command][] =>
  command.commands.length === 0
    ? [[above.join(" "), command]]
    : command.commands.flatMap((one) => leaves(one, [...above, one.name()]));

/** What only a server of others at a public address would give: without settings its refusal is all there is. */
const refusedHere = "POST /api/2.8/:project/link/";

export const describedSteps: readonly Step[] = [
  {
    name: "every operation of /openapi.json has been used",
    walk: async (t, world) => {
      const operations = await operationsOf(world);
      const metrics = (await world.ask("GET", "/metrics")).text;
      const used = new Set<string>();
      for (const [, labels = ""] of metrics.matchAll(/^mapwright_requests_total\{(.*)\} [1-9]/gm)) {
        const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
        const operation = `${label("method")} ${label("route").replace(/\*/g, "")}`;
        // 499: the client left, as it has to where an answer does not end.
        const isUse = /^2|^499$/.test(label("status")) || operation === refusedHere;
        if (isUse) used.add(operation);
      }
      const described = operations.map(
        ({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
      );
      t.ok(described.length > 70, `${described.length} operations of ${project}`);
      t.same(
        described.filter((operation) => !used.has(operation)),
        [],
      );
    },
  },
  {
    name: "every parameter of theirs has been given",
    walk: async (t, world) => {
      for (const operation of await operationsOf(world)) {
        const given = givenTo(world, operation);
        t.same(
          operation.query.filter((name) => !given.has(name)),
          [],
          `${operation.method} ${operation.path}`,
        );
      }
    },
  },
  {
    name: "every option of the commands has been given",
    walk: async (t, world) => {
      const { stdin, stdout, stderr } = process;
      for (const [name, command] of leaves(await buildProgram({ stdin, stdout, stderr, variables: {} }))) {
        if (ofOtherTests.has(name)) continue;
        const given = new Set(
          world.commands.filter((args) => args.slice(0, name.split(" ").length).join(" ") === name).flat(),
        );
        const options = command.options.map(({ long }) => long ?? "").filter((long) => !ofAll.has(long));
        t.same(
          options.filter((option) => !given.has(option)),
          [],
          name,
        );
      }
    },
  },
];
