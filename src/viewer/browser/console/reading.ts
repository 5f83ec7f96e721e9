import type { MapId } from "../map-server.js";
import type { TileSource } from "../tile-source.js";
import type { Dialogs } from "./dialogs.js";
import type { Edits } from "./edits.js";
import { LateDialog } from "./late-dialog.js";
import type { ReadFile } from "./reading/read-file.js";

/** Opens the dialog that tells how a file was read. It is loaded when it is first opened. */
export class ReadingDialog {
  private readonly late: LateDialog;

  constructor(
    private readonly dialogs: Dialogs,
    private readonly edits: Edits,
    /** What lies below the places of a file. */
    private readonly base: (map: MapId) => TileSource,
  ) {
    this.late = new LateDialog(dialogs, "reading");
  }

  open(file: ReadFile): Promise<void> {
    return this.late.open(async () => {
      const { showReading } = await import("./reading/dialog.js");
      const [map = ""] = file.segments;
      const base = this.base({ project: file.project, map });
      return () => showReading(this.dialogs, this.edits, file, base);
    });
  }
}
