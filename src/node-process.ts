import type { Config } from "./config.js";
import { createLog } from "./log.js";
import { type Node, startNode } from "./node.js";

/** The process of one node, started and watched by `mapwright serve`. It speaks with its parent alone. */

/** What the parent says. */
export type ToNode =
  | { readonly kind: "start"; readonly config: Config }
  | { readonly kind: "stop"; readonly drainMs: number };
/** What the node says. */
export type FromNode = { readonly kind: "listening" } | { readonly kind: "failed"; readonly reason: string };

/** How long the word that a node is ready waits for its hosts. */
const hostsMs = 10_000;

let node: Node | undefined;
let stopping = false;

// When the parent has gone meanwhile, the channel is closed and nobody is there to be told.
const sendToParent = (message: FromNode) => process.send?.(message, undefined, undefined, () => undefined);

async function stop(drainMs: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  await node?.stop(drainMs).catch(() => undefined);
  process.exit(0);
}

process.on("message", (message: ToNode) => {
  if (message.kind === "stop") void stop(message.drainMs);
  else {
    startNode(message.config, createLog(message.config.logLevel, "node")).then(
      async (started) => {
        node = started;
        // It serves already; "ready" is said when it can draw and import as well, or after a while without that.
        const { render, transfer } = started.services;
        const hosts = Promise.all([render.whenReady(), transfer.whenReady()]);
        await Promise.race([hosts, new Promise((resolve) => setTimeout(resolve, hostsMs))]);
        sendToParent({ kind: "listening" });
      },
      (error: Error) => {
        sendToParent({ kind: "failed", reason: error.message });
        process.exit(1);
      },
    );
  }
});
// The parent ends its nodes itself; a terminal's Ctrl-C reaches the whole group.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => void stop(10_000));
process.on("disconnect", () => void stop(2_000));
