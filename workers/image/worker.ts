import type { ImageMessages } from "../../src/hosts/messages.js";
import { draw } from "./draw.js";
import { resize } from "./resize.js";

type Task = {
  [Kind in keyof ImageMessages]: { kind: Kind; request: ImageMessages[Kind][0] };
}[keyof ImageMessages];

/** Runs one task of the image host. */
export default async function run(task: Task): Promise<ImageMessages[keyof ImageMessages][1]> {
  switch (task.kind) {
    case "resize":
      return resize(task.request);
    case "draw":
      return draw(task.request);
    case "ping":
      return "pong";
  }
}
