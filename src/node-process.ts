import type { Config } from "./config.js";
import { inTime } from "./in-time.js";
import { createLog } from "./log.js";
import { type Node, startNode } from "./node.js";

/** The process of one node, started and watched by `mapwright serve`. They exchange messages over the IPC channel. */

/** Messages from the parent. */
export type ToNode =
  | { readonly kind: "start"; readonly config: Config }
  | { readonly kind: "stop"; readonly requestMs: number; readonly drainMs: number };
/** Messages from the node. */
export type FromNode = { readonly kind: "listening" } | { readonly kind: "failed"; readonly reason: string };

/** A node reports that it listens when its hosts are ready, or after this time. */
const hostsMs = 10_000;
/** How long a node that stops may take beyond the time for running requests. */
const longestStopMs = 15_000;

let node: Node | undefined;
let stopping = false;

// When the parent has ended the channel is closed; the error is ignored.
const sendToParent = (message: FromNode) => process.send?.(message, undefined, undefined, () => undefined);

async function stop(requestMs: number, drainMs = 0): Promise<void> {
  if (stopping) return;
  stopping = true;
  setTimeout(() => process.exit(1), drainMs + requestMs + longestStopMs).unref();
  await node?.stop(requestMs, drainMs).catch(() => undefined);
  process.exit(0);
}

process.on("message", (message: ToNode) => {
  if (message.kind === "stop") void stop(message.requestMs, message.drainMs);
  else {
    startNode(message.config, createLog(message.config.logLevel, "node")).then(
      async (started) => {
        node = started;
        // It serves already, but cannot render before its host is ready.
        const { render } = started.services;
        await inTime(render.whenReady(), hostsMs, () => undefined).catch(() => undefined);
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
