import type { FileLayer } from "../../../src/hosts/import-messages.js";
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
  /** The only table that is read, one of those that were found in the file; absent = all of them. */
  readonly table?: OwnTable | undefined;
}

/** A table of a file. */
export interface OwnTable extends Pick<FileLayer, "geometry" | "features"> {
  /** As the file has it; "" = it has none. */
  readonly name: string;
  /** Among the tables, layers or sheets of the file, from 0. */
  readonly place: number;
}

/**
 * Finds the tables of a file, before its features are read; none = it is one table.
 * @throws Refusal for a file that cannot be read
 */
export type FindTables = (
  task: Pick<ReadTask, "path" | "encoding" | "budget">,
) => Promise<readonly OwnTable[]>;

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
