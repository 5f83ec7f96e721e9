import { AppendedFile } from "./appended-file.js";
import { FeatureEncoder, type FieldValue, flatGeobufHeader, type LayerHeader } from "./flatgeobuf.js";

/** A file that features are written to. */
export interface Output {
  add(wkb: Buffer | null, values: readonly FieldValue[]): void;
  /** Bytes that wait to be written. */
  readonly pending: number;
  /** Writes what waits, perhaps later than it resolves. */
  flush(): Promise<void>;
  /** Completes the file. */
  close(): Promise<void>;
  /** Lets go of a file that is not completed, so that its room is free when it is removed. Never rejects. */
  abandon(): Promise<void>;
}

/** A FlatGeobuf file without an index. It keeps the order of the features, and times to the microsecond. */
export async function flatGeobufOutput(path: string, header: LayerHeader): Promise<Output> {
  const encoder = new FeatureEncoder(header);
  const file = await AppendedFile.create(path);
  await file.append(flatGeobufHeader(header));
  const flush = () => file.append(encoder.take());
  return {
    add: (wkb, values) => encoder.add(wkb, values),
    get pending() {
      return encoder.length;
    },
    flush,
    close: async () => {
      await flush();
      await file.close();
    },
    abandon: () => file.abandon(),
  };
}
