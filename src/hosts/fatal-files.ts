import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { Overruns } from "./overruns.js";

/** Files over which the process that reads them has ended, by their content. They are refused for a while, as `Overruns` says. */

/** Files in a folder. */
export interface ReadFiles {
  readonly folder: string;
  readonly files: readonly string[];
}

export class FatalFiles {
  private readonly overruns = new Overruns();

  /**
   * Whether the files may be read now. While all goes well, their content is not looked at.
   * @throws the signal's reason
   */
  async admits(files: ReadFiles, signal?: AbortSignal): Promise<boolean> {
    return this.overruns.isEmpty || this.overruns.admits(await contentOf(files, signal));
  }

  /** The process crashed over them. */
  async crashed(files: ReadFiles): Promise<void> {
    this.overruns.note(await contentOf(files));
  }

  /**
   * The process was killed while it read them, perhaps because of something else: the second time in a row counts.
   * @param begun when it began to, by `performance.now()`
   * @returns whether they are refused from now on
   */
  async killed(files: ReadFiles, begun: number): Promise<boolean> {
    const content = await contentOf(files);
    return this.overruns.suspect(content, begun);
  }

  /** They were read. */
  async read(files: ReadFiles): Promise<void> {
    if (!this.overruns.isEmpty) this.overruns.done(await contentOf(files));
  }
}

/** Names and content as one digest. */
async function contentOf({ folder, files }: ReadFiles, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  for (const name of files) {
    hash.update(`${name}\0`);
    // A digest of each, so that what ends one cannot begin the next.
    const own = createHash("sha256");
    for await (const chunk of createReadStream(join(folder, name))) {
      signal?.throwIfAborted();
      own.update(chunk as Buffer);
    }
    hash.update(own.digest());
  }
  return hash.digest("base64");
}
