import { move, transferableSymbol, valueSymbol } from "piscina";
import { type BodyTask, readTask } from "../../src/features/object-body.js";

/** A thread of the server process that reads large bodies. What it is given and gives back is moved, not copied. */
export default function run(task: BodyTask): unknown {
  const { answer, moved } = readTask(task);
  return move({ [transferableSymbol]: moved, [valueSymbol]: answer });
}
