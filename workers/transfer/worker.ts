import { parentPort } from "node:worker_threads";
import type { ExportMessages } from "../../src/hosts/export-messages.js";
import type { ImportProgress } from "../../src/hosts/import-messages.js";
import type { TransferMessages, WaterMessages } from "../../src/hosts/messages.js";
import { exportFile } from "./export/export-file.js";
import { importFile } from "./import-file.js";
import { writeTiles } from "./tiles/tiles.js";
import { writeWater } from "./water/write-water.js";

type Messages = TransferMessages & ExportMessages & WaterMessages;
type Task = {
  [Kind in keyof Messages]: { id: number; kind: Kind; request: Messages[Kind][0] };
}[keyof Messages];

/** Runs one task of the transfer host, in the one thread of its process that may load GDAL. */
export default async function run(task: Task): Promise<Messages[keyof Messages][1]> {
  switch (task.kind) {
    case "import":
      return importFile(task.request, (progress: ImportProgress) =>
        parentPort?.postMessage({ id: task.id, progress }),
      );
    case "export":
      return exportFile(task.request);
    case "tiles":
      return writeTiles(task.request);
    case "water":
      return writeWater(task.request);
    case "ping":
      return "pong";
  }
}
