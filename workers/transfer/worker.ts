import type { TransferMessages } from "../../src/hosts/messages.js";
import { importFile } from "./import.js";

type Task = {
  [Kind in keyof TransferMessages]: { kind: Kind; request: TransferMessages[Kind][0] };
}[keyof TransferMessages];

/** Runs one task of the transfer host, in the one thread of its process that may load GDAL. */
export default async function run(task: Task): Promise<TransferMessages[keyof TransferMessages][1]> {
  switch (task.kind) {
    case "import":
      return importFile(task.request);
    case "ping":
      return "pong";
  }
}
