import type { MapServer } from "../../map-server.js";
import type { OpenTable } from "../../tools/table.js";
import type { ObjectsOf, ObjectsParts } from "../object-parts.js";
import type { DoneWork } from "./done-work.js";
import type { Drafts } from "./drafts.js";
import type { LayerData } from "./layer-data.js";
import type { Tasks } from "./tasks.js";

/** What the parts of the editor have of each other. */
export interface Surroundings {
  readonly parts: ObjectsParts;
  readonly of: ObjectsOf;
  /** Asked anew after a session has ended and was begun again. */
  readonly server: MapServer;
  readonly drafts: Drafts;
  readonly tasks: Tasks;
  readonly done: DoneWork;
  /** The editor is closed. */
  readonly closing: AbortSignal;
  readonly table: Pick<OpenTable, "renew" | "show" | "values" | "total">;
  /** Undefined = it cannot be read, which is told. */
  layer(): Promise<LayerData | undefined>;
  /** What is known of the layer, if it is. */
  readonly known: LayerData | undefined;
  /** Objects were changed here: what shows them is made anew. */
  renewed(): void;
  /** What buttons can do may have changed. */
  update(): void;
  tell(error: unknown): void;
}
