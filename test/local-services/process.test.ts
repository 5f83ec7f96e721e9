import { spawn } from "node:child_process";
import t from "tap";
import { supervise } from "../../src/local-services/process.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

t.test("a service that ends while no process can be made is started again when one can", async (t) => {
  const args = ["600"];
  const service = (await supervise(
    {
      name: "Sleep",
      launch: () => spawn("sleep", args),
      endSignal: "SIGTERM",
      answers: async () => undefined,
    },
    quietLog,
  ))!;
  t.teardown(() => service.stop());
  const first = service.pid()!;
  // The kernel takes no argument of that length.
  args.push("x".repeat(200_000));
  process.kill(first, "SIGKILL");
  await waitFor(() => service.pid() === undefined);
  await new Promise((resolve) => setTimeout(resolve, 300));
  t.equal(service.pid(), undefined);
  args.pop();
  await waitFor(() => service.pid() !== undefined);
  t.not(service.pid(), first);
});
