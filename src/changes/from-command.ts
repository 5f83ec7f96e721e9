import { randomBytes } from "node:crypto";
import { systemClock } from "../clock.js";
import type { Database } from "../storage/postgres.js";
import type { Redis } from "../storage/redis.js";
import { channel, parseNotification } from "./notification.js";
import { Propagation } from "./propagation.js";
import { dropNode, forgetNode, notify, otherNodes } from "./server-nodes.js";
import { leaveWord } from "./unheard.js";

export interface CommandConnections {
  readonly db: Pick<Database, "listening">;
  /** @throws Error while it cannot be reached */
  readonly redis: () => Promise<Redis>;
  readonly redisPrefix: string;
}

/**
 * Waits until no node that runs answers with what was before a command's change: what was closed is closed when the
 * command ends. The command itself remembers nothing, so it is no node.
 */
export async function propagateFromCommand({ db, redis, redisPrefix }: CommandConnections): Promise<void> {
  const connection = await db.listening();
  try {
    const asked = {
      query: async <Row extends object>(text: string, values: readonly unknown[] = []) =>
        (await connection.query(text, [...values])).rows as Row[],
    };
    const id = `command-${randomBytes(6).toString("hex")}`;
    const propagation = new Propagation({
      clock: systemClock,
      mark: (receipt) => notify(asked, `B ${id}/${receipt}`),
      drop: (node) => dropNode(asked, node),
      lapsed: (node) => forgetNode(asked, node),
      unheard: async () => leaveWord(await redis(), redisPrefix),
      deaf: () => undefined,
    });
    connection.onNotification((payload) => {
      const heard = parseNotification(payload);
      if (heard?.kind === "mark" && heard.mark.node === id) propagation.heard(heard.mark.receipt);
      else if (heard?.kind === "heard" && heard.node === id)
        propagation.acknowledged(heard.from, heard.receipts);
      else if (heard?.kind === "joined") propagation.joined(heard.node);
      else if (heard?.kind === "dropped") propagation.dropped(heard.node);
      else if (heard?.kind === "left") propagation.left(heard.node);
    });
    connection.onLost(() => undefined);
    await asked.query(`listen ${channel}`);
    propagation.began(await otherNodes(asked, id));
    await propagation.propagate();
  } finally {
    await connection.end().catch(() => undefined);
  }
}
