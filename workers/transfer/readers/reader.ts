import type { RowSink } from "../sink.js";
import type { Transform } from "../srs.js";
import type { ByteBudget } from "../zip-archive.js";

/** What a reader is given. */
export interface ReadTask {
  /** The main file; files that belong to it lie beside it, with the same name and other extensions. */
  readonly path: string;
  readonly sink: RowSink;
  readonly srs: RequestedSrs;
  /** Text encoding that the client named, as `TextDecoder` knows it; undefined = to be found from the file. */
  readonly encoding: string | undefined;
  /** For formats that are archives themselves. */
  readonly budget: ByteBudget;
}

/** The spatial reference of the request, which takes precedence over the file's own. */
export interface RequestedSrs {
  readonly isGiven: boolean;
  /** To EPSG:4326; undefined also when the request names EPSG:4326. */
  readonly transform: Transform | undefined;
}

/**
 * Reads all features of a file into the sink, with memory that does not depend on the number of features. The sink's
 * transform is that of the request when the reader begins.
 * @throws Refusal for a file that cannot be read
 */
export type Reader = (task: ReadTask) => Promise<void>;
