import { rowsStatement } from "../features/list.js";
import { readChunks } from "../features/read.js";
import type { Database } from "../storage/postgres.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { selectionOf } from "./export-survey.js";

/** Objects as text that PostgreSQL makes. */
export interface ObjectText {
  /** SQL of what `text` uses, over a row of the layer's table: "geom as g". */
  readonly reads: readonly string[];
  /** SQL of an object's text. */
  readonly text: string;
  /** SQL condition of the objects, beside those of the request. */
  readonly where?: string;
  readonly opening: string;
  readonly closing: string;
  /** Rewrites each object's text. */
  readonly rewrite?: (object: string) => string;
}

/** All objects of an export as chunks of text, of which the first is ready. */
export const objectTexts = (
  db: Database,
  target: ExportTarget,
  request: ExportRequest,
  { reads, text, where, opening, closing, rewrite }: ObjectText,
): Promise<AsyncIterableIterator<string | Uint8Array>> =>
  readChunks(db, {
    statement: rowsStatement(target.layer, selectionOf(target, request), {
      reads,
      text,
      ...(where === undefined ? {} : { where }),
    }),
    text: { opening, closing, separator: "" },
    rewrite,
    signal: request.signal,
    onObjects: request.onObjects,
  });
