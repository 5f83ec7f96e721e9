import { randomBytes } from "node:crypto";
import type { Touched } from "../tiles/changes.js";
import { Peers } from "../tiles/peers.js";
import type { CommandServices } from "./environment.js";

/**
 * Tells the nodes that run what a command changed, and waits until they know: what was closed is closed when the
 * command ends. Where Redis cannot be reached PostgreSQL's notifications tell them, milliseconds later.
 */
export async function tellNodes(
  { config, log, redis }: Pick<CommandServices, "config" | "log" | "redis">,
  touched: Touched,
): Promise<void> {
  let connection: Awaited<ReturnType<typeof redis>>;
  try {
    connection = await redis();
  } catch {
    return;
  }
  const peers = new Peers({
    redis: connection,
    prefix: config.redisPrefix,
    nodeId: `command-${randomBytes(6).toString("hex")}`,
    log,
    // It keeps nothing that others could change.
    apply: async () => undefined,
  });
  try {
    await peers.start();
    await peers.tell(touched);
  } finally {
    await peers.stop();
  }
}
