import type { MapServer } from "../map-server.js";
import { saveBytes, saveFile } from "../save-file.js";
import type { LayerObjects, Selected } from "./layer-objects.js";

/** Longer addresses are not taken by all servers in between. */
const maxAddress = 4_000;

/**
 * Downloads the selected objects as a file. Of public maps it is a plain link, so that a large file goes to the disk as it
 * comes. With a session the token goes in a header, never into an address, which browsers and proxies keep.
 * @throws ServerError
 */
export async function downloadObjects(
  server: MapServer,
  objects: LayerObjects,
  {
    selected,
    format,
    signal,
  }: { readonly selected: Selected; readonly format: string; readonly signal: AbortSignal },
): Promise<void> {
  const { path, query } = objects.exported(selected, format);
  const { project } = objects.mapId;
  const address = server.publicAddress(project, path, query);
  if (address !== undefined && address.length <= maxAddress) {
    saveFile(address, "");
    return;
  }
  const answer = await server.answer(project, path, query, { method: "POST", signal });
  const name = fileName(answer.headers.get("content-disposition") ?? "") ?? `objects.${format}`;
  saveBytes(await answer.blob(), name);
}

/** The name in Content-Disposition (RFC 6266). */
function fileName(header: string): string | undefined {
  const [, encoded] = /filename\*=UTF-8''([^;]+)/i.exec(header) ?? [];
  const [, plain] = /filename="([^"]*)"/i.exec(header) ?? [];
  if (encoded === undefined) return plain;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return plain;
  }
}
