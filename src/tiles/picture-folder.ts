import { createHash, randomBytes } from "node:crypto";
import { createReadStream, rmSync } from "node:fs";
import { copyFile, link, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { StoredPicture } from "../catalog/state.js";
import type { ImageHost } from "../hosts/image.js";
import { removeQuietly } from "../remove-quietly.js";
import { BlobNotFound, type BlobStore } from "../storage/blob-store.js";
import { ownFolder, processFolders } from "../storage/process-folders.js";
import { contentName, type PictureFile } from "../style/pictures.js";
import { emptyPicture } from "./dots.js";

/**
 * The folder that the render host of a node reads pictures from, under names that stand for their content. It is the
 * node's own and goes with it. Files that nothing is drawn from go when there are too many, those not used for longest
 * first.
 */
export class PictureFolder {
  /** By name, from the one not used for longest to the last used one. The installation's icons are not among them. */
  private readonly files = new Map<string, PlacedFile>();
  private bytes = 0;

  private constructor(
    readonly path: string,
    private readonly sources: PictureSources,
    private readonly maxBytes: number,
  ) {}

  /**
   * An empty folder below `parent`, for the node of this process.
   * @param maxBytes on disk; more only as long as all of it is drawn from
   */
  static async open(
    parent: string,
    sources: PictureSources,
    maxBytes = 512 * 1024 ** 2,
  ): Promise<PictureFolder> {
    for (const left of (await processFolders(parent)).left) await removeQuietly(left);
    const path = await ownFolder(parent);
    await mkdir(path, { recursive: true, mode: 0o700 });
    await writeFile(join(path, emptyPicture.name), emptyPicture.content);
    return new PictureFolder(path, sources, maxBytes);
  }

  /** Calls `draw` while the pictures are in the folder, with those that cannot be had by name, and why. */
  async use<T>(
    pictures: readonly PictureFile[],
    draw: (gone: ReadonlyMap<string, unknown>) => Promise<T>,
  ): Promise<T> {
    if (pictures.length === 0) return draw(new Map());
    const held: PlacedFile[] = [];
    const gone = new Map<string, unknown>();
    try {
      for (const picture of pictures) {
        const file = this.hold(picture);
        if (!file) continue;
        held.push(file);
        if (!file.isThere) await file.placed;
        if (!file.isThere) gone.set(picture.name, file.failure);
      }
      return await draw(gone);
    } finally {
      for (const file of held) file.users--;
      this.trim();
    }
  }

  /** The file, which is being placed if it is new; undefined = an icon of the installation. */
  private hold(picture: PictureFile): PlacedFile | undefined {
    const { name } = picture;
    if (picture.picture.blob === "" && name === contentName(picture.picture)) return undefined;
    let file = this.files.get(name);
    if (file) {
      file.users++;
      this.files.delete(name);
      this.files.set(name, file);
      return file;
    }
    const bytes = blockBytes + picture.picture.bytes * (picture.scale ?? 1) ** 2;
    const placed: PlacedFile = { bytes, users: 1, isThere: false, placed: Promise.resolve() };
    file = placed;
    this.files.set(name, file);
    this.bytes += bytes;
    file.placed = this.place(picture).then(
      () => {
        placed.isThere = true;
      },
      (error: unknown) => {
        this.forget(name, placed);
        placed.failure = error;
      },
    );
    return file;
  }

  private forget(name: string, file: PlacedFile): void {
    if (this.files.get(name) !== file) return;
    this.files.delete(name);
    this.bytes -= file.bytes;
  }

  private trim(): void {
    for (const [name, file] of this.files) {
      if (this.bytes <= this.maxBytes) return;
      if (file.users > 0) continue;
      this.forget(name, file);
      // At once, so that it cannot go after it is placed anew.
      rmSync(join(this.path, name), { force: true });
    }
  }

  private async place(picture: PictureFile): Promise<void> {
    const target = join(this.path, picture.name);
    const content = contentName(picture.picture);
    const part = `${target}.${randomBytes(6).toString("hex")}.part`;
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    try {
      // The same picture has many names.
      if (picture.name !== content)
        await this.use([{ name: content, picture: picture.picture }], () =>
          picture.scale === undefined || picture.picture.format === "font"
            ? link(join(this.path, content), part)
            : this.enlarge(join(this.path, content), part, {
                picture: picture.picture,
                scale: picture.scale,
              }),
        );
      else {
        await this.sources.blobs.withLocalCopy(picture.picture.blob, (source) => copyFile(source, part));
        await checkContent(part, picture.picture);
      }
      await rename(part, target);
    } catch (error) {
      await removeQuietly(part);
      // The content of the picture was not placed.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") throw new BlobNotFound(picture.picture.blob);
      throw error;
    }
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

/** Mapnik draws nothing for what it cannot read, and says nothing of it. @throws Error */
async function checkContent(file: string, picture: PictureFile["picture"]): Promise<void> {
  const { blob, digest, bytes } = picture;
  const damaged = () => new Error(`The blob ${blob} is damaged.`);
  if ((await stat(file)).size !== bytes) throw damaged();
  // The digest of a font leaves out its names.
  if (picture.format === "font") return;
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  if (hash.digest("hex") !== digest) throw damaged();
}

interface PlacedFile {
  /** What it takes on disk at most. */
  readonly bytes: number;
  /** Drawings that need it now. */
  users: number;
  isThere: boolean;
  /** Resolves when the file is there, or has failed; never rejects. */
  placed: Promise<void>;
  /** Why it is not there. */
  failure?: unknown;
}

/** What a file takes on disk besides its bytes, at most. */
const blockBytes = 4_096;
