import type { ImageMessages } from "../../src/hosts/messages.js";
import { draw } from "./draw.js";
import { font } from "./font.js";
import { mosaic } from "./mosaic.js";
import { pictures } from "./pictures.js";
import { resize } from "./resize.js";

/** Printing has its own thread: print/worker.ts. */
type Kinds = Exclude<keyof ImageMessages, "print">;
type Task = { [Kind in Kinds]: { kind: Kind; request: ImageMessages[Kind][0] } }[Kinds];

/** Runs one task of the image host. */
export default async function run(task: Task): Promise<ImageMessages[Kinds][1]> {
  switch (task.kind) {
    case "resize":
      return resize(task.request);
    case "draw":
      return draw(task.request);
    case "mosaic":
      return mosaic(task.request);
    case "pictures":
      return pictures(task.request);
    case "font":
      return font(task.request);
    case "ping":
      return "pong";
  }
}
