import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * The commit that the checkout in a folder has, with `-dirty` where files of it were changed; undefined where the folder is
 * none, as one that was unpacked, even within the checkout of something else.
 */
export function commitOf(folder) {
  if (!existsSync(join(folder, ".git"))) return undefined;
  const args = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"];
  const { status, stdout } = spawnSync("git", args, { cwd: folder, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}
