import { randomBytes } from "node:crypto";
import { systemClock } from "../clock.js";
import type { Database } from "../storage/postgres.js";
import type { Redis } from "../storage/redis.js";
import { replaceToken } from "./missed-changes.js";
import { channel, parseNotification } from "./notification.js";
import { Propagation } from "./propagation.js";
import { deleteDroppedNode, dropNode, notify, otherNodes } from "./server-nodes.js";

export interface CommandConnections {
  readonly db: Pick<Database, "listening">;
  /** @throws Error while Redis is unavailable */
  readonly redis: () => Promise<Redis>;
  readonly redisPrefix: string;
}

/**
 * Waits until no running node serves the state before a command's change: a map that the command closes is closed when it
 * ends. A command caches nothing, so it is not a node itself.
 */
export async function propagateFromCommand(connections: CommandConnections): Promise<void> {
  const { redis, redisPrefix } = connections;
  const connection = await connections.db.listening();
  try {
    const db = {
      query: async <Row extends object>(text: string, values: readonly unknown[] = []) =>
        (await connection.query(text, [...values])).rows as Row[],
    };
    const id = `command-${randomBytes(6).toString("hex")}`;
    const propagation = new Propagation({
      clock: systemClock,
      sendMark: (receipt, isAgain) => notify(db, `B ${id}/${receipt}${isAgain ? " again" : ""}`),
      drop: (node) => dropNode(db, node),
      expired: (node) => deleteDroppedNode(db, node),
      changesMissed: async () => replaceToken(await redis(), redisPrefix),
      ownMarkMissed: () => undefined,
    });
    connection.onNotification((payload) => {
      const received = parseNotification(payload);
      if (received?.kind === "mark" && received.mark.node === id)
        propagation.receivedOwn(received.mark.receipt);
      else if (received?.kind === "acknowledged" && received.node === id)
        propagation.acknowledged(received.from, received.receipts);
      else if (received?.kind === "joined") propagation.joined(received.node);
      else if (received?.kind === "dropped") propagation.dropped(received.node);
      else if (received?.kind === "left") propagation.left(received.node);
    });
    connection.onLost(() => undefined);
    await db.query(`listen ${channel}`);
    propagation.connected(await otherNodes(db, id));
    await propagation.propagate();
  } finally {
    await connection.end().catch(() => undefined);
  }
}
