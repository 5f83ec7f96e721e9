import type { Pictures } from "../../pictures.js";
import { newKey } from "../new-key.js";
import { problemText } from "../problem.js";
import type { FileSource } from "./file-field.js";
import { isFinal } from "./object-store.js";
import type { Surroundings } from "./surroundings.js";

/** The files of an object, which are attached and taken away at once. @param changed the object is another one then */
export function objectFiles(
  { parts, of, server, known, tell }: Surroundings,
  id: number,
  pictures: Pictures,
  changed: () => Promise<void>,
): FileSource {
  const { mapId, item } = of;
  /** Of files whose sending has no answer yet, so that they are attached once. */
  const keys = new Map<string, string>();
  return {
    ...server.attachments(mapId, item.element.code, id, pictures),
    attach: async (column, file) => {
      const name = JSON.stringify([column, file.name, file.size, file.lastModified]);
      const key = keys.get(name) ?? newKey();
      keys.set(name, key);
      try {
        await known!.store.attach(id, column, file, key);
      } catch (error) {
        if (isFinal(error)) keys.delete(name);
        throw error;
      }
      keys.delete(name);
      await changed();
    },
    detach: async (column, { id: file }) => {
      await known!.store.detach(id, column, file);
      await changed();
    },
    problem: (error) => problemText(error, parts.locale.t),
    failed: tell,
  };
}
