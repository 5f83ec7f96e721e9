import { randomBytes } from "node:crypto";
import { access, copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { StoredPicture } from "../catalog/state.js";
import type { ImageHost } from "../hosts/image.js";
import { BlobNotFound, type BlobStore } from "../storage/blob-store.js";
import type { PictureFile } from "../style/pictures.js";

/**
 * The folder that the render host of a node reads pictures from, under names that stand for their content. It is the
 * node's own and goes with it.
 */
export class PictureFolder {
  private constructor(
    readonly path: string,
    private readonly sources: PictureSources,
  ) {}

  /**
   * An empty folder below `parent`, for the node of this process.
   */
  static async open(parent: string, sources: PictureSources): Promise<PictureFolder> {
    await removeLeft(parent);
    const path = join(parent, `${prefix()}${process.pid}-${randomBytes(6).toString("hex")}`);
    await mkdir(path, { recursive: true, mode: 0o700 });
    return new PictureFolder(path, sources);
  }

  /** Copies pictures that are not there yet. One whose blob is gone is left out: what shows it is outdated. */
  async place(files: readonly PictureFile[]): Promise<void> {
    for (const { name, picture, scale } of files) {
      const target = join(this.path, name);
      if (await exists(target)) continue;
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      const part = `${target}.${randomBytes(6).toString("hex")}.part`;
      try {
        await this.withFile(picture, (source) =>
          scale === undefined ? copyFile(source, part) : this.enlarge(source, part, { picture, scale }),
        );
        await rename(part, target);
      } catch (error) {
        await rm(part, { force: true });
        if (!(error instanceof BlobNotFound)) throw error;
      }
    }
  }

  /** Icons have no blob: their files are here. */
  private withFile(picture: StoredPicture, use: (path: string) => Promise<void>): Promise<void> {
    if (picture.blob === "") return use(join(this.path, `${picture.digest}.${picture.format}`));
    return this.sources.blobs.withLocalCopy(picture.blob, use);
  }

  private async enlarge(
    source: string,
    target: string,
    { picture, scale }: { readonly picture: StoredPicture; readonly scale: number },
  ): Promise<void> {
    const size = { width: picture.width * scale, height: picture.height * scale };
    const resized = await this.sources.image.call("resize", {
      path: source,
      ...size,
      fit: "fill",
      format: "png",
    });
    if (!resized.ok) throw new Error(`The picture ${picture.digest} cannot be enlarged.`);
    await writeFile(target, resized.bytes);
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }
}

export interface PictureSources {
  readonly blobs: Pick<BlobStore, "withLocalCopy">;
  readonly image: Pick<ImageHost, "call">;
}

/** Machines may share the parent, whose processes cannot be seen from here. */
const prefix = (): string => `${hostname()}-`;

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Removes folders of this machine's processes that are gone. */
async function removeLeft(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    if (!name.startsWith(prefix())) continue;
    const pid = /^(\d+)-[0-9a-f]+$/.exec(name.slice(prefix().length))?.[1];
    if (pid === undefined || Number(pid) === process.pid || (await isRunning(pid))) continue;
    await rm(join(parent, name), { recursive: true, force: true });
  }
}

const isRunning = (pid: string): Promise<boolean> =>
  readFile(`/proc/${pid}/stat`).then(
    () => true,
    () => false,
  );
