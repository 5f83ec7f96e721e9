import { AppendedFile } from "./appended-file.js";
import { MifEncoder, type MifHeader } from "./mif.js";
import type { Output } from "./output.js";

/** Extensions of its files. */
export const mifParts = [".mif", ".mid"] as const;

/** @param stem path without an extension */
export async function mifOutput(stem: string, header: MifHeader): Promise<Output> {
  const encoder = new MifEncoder(header);
  const { geometries, values } = encoder;
  const [mif, mid] = await AppendedFile.createAll(mifParts.map((extension) => stem + extension));
  const flush = async () => {
    await mif!.append(geometries.take());
    await mid!.append(values.take());
  };
  return {
    add: (wkb, row) => encoder.add(wkb, row),
    get pending() {
      return geometries.length + values.length;
    },
    flush,
    async close() {
      await flush();
      await mif!.close();
      await mid!.close();
    },
    async abandon() {
      await Promise.all([mif!.abandon(), mid!.abandon()]);
    },
  };
}
