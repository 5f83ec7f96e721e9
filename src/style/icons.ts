import { createHash } from "node:crypto";
import { copyFile, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { StoredPicture } from "../catalog/state.js";
import type { ImageHost } from "../hosts/image.js";
import type { Log } from "../log.js";
import { removeQuietly } from "../remove-quietly.js";
import { isIconName } from "./picture-path.js";
import { contentName } from "./pictures.js";

/** The icons of the installation: those beside this module, and those of a folder of the operator's. */

const shipped = fileURLToPath(new URL("icons", import.meta.url));
/** Side in pixels of the square that all of them are drawn on. */
const shippedSide = 16;

export interface IconSources {
  /** Folder of the operator's own icons, SVG, PNG or WebP; it need not be there. They go before those of the same name. */
  readonly own: string;
  /** Folder that pictures are drawn from, which the icons are written to. */
  readonly folder: string;
  readonly image: Pick<ImageHost, "call">;
  readonly log: Log;
}

/** Icons by `icon:name`. */
export async function loadIcons(sources: IconSources): Promise<ReadonlyMap<string, StoredPicture>> {
  const icons = new Map<string, StoredPicture>();
  for (const file of await names(shipped)) {
    const content = await readFile(join(shipped, file));
    const digest = createHash("sha256").update(content).digest("hex");
    const size = { width: shippedSide, height: shippedSide, bytes: content.length };
    const icon: StoredPicture = { blob: "", digest, format: "svg", ...size };
    icons.set(iconName(file), icon);
    await writeFile(join(sources.folder, contentName(icon)), content);
  }
  for (const file of await names(sources.own)) {
    const icon = await ownIcon(sources, file);
    if (icon) icons.set(iconName(file), icon);
  }
  return icons;
}

/** An icon of the operator's, written anew; undefined, and a warning, when it is none. */
async function ownIcon(
  { own, folder, image, log }: IconSources,
  file: string,
): Promise<StoredPicture | undefined> {
  const work = await mkdtemp(join(folder, "icon-"));
  try {
    if (!isIconName(iconName(file))) throw new Error("its name is not made of letters, digits, _ and -");
    const answer = await image.call("pictures", { path: join(own, file), name: file, folder: work });
    const [made] = answer.ok ? answer.pictures : [];
    if (!made) throw new Error(answer.ok ? answer.refused[file] : answer.error);
    const { digest, format, width, height, bytes } = made;
    const icon: StoredPicture = { blob: "", digest, format, width, height, bytes };
    await copyFile(made.file, join(folder, contentName(icon)));
    return icon;
  } catch (error) {
    log.warn({ icon: file, reason: (error as Error).message }, "an icon cannot be used");
    return undefined;
  } finally {
    await removeQuietly(work);
  }
}

const iconName = (file: string): string => `icon:${file.replace(/\.\w+$/, "")}`;

const names = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => [])).filter((name) => /\.(?:svg|png|webp)$/i.test(name)).sort();
