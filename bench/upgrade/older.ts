import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** An older version of this program, built in a folder of its own from its commit. */

export interface Older {
  readonly folder: string;
  /** What makes it another program than it was. */
  readonly notes: readonly string[];
  remove(): void;
}

const git = (...words: readonly string[]): string => execFileSync("git", words, { encoding: "utf8" }).trim();

/** @returns the commit so many before this one, and its subject; undefined in a clone that is not as deep */
export function commitBefore(count: number): string | undefined {
  const { status, stdout } = spawnSync("git", ["log", "-1", "--format=%h %s", `HEAD~${count}`], {
    encoding: "utf8",
  });
  return status === 0 ? stdout.trim() : undefined;
}

/** With the packages that are installed here. @throws Error when it does not build */
export function buildOlder(commit: string): Older {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-older-"));
  git("worktree", "add", "--quiet", "--detach", "--force", folder, commit);
  const remove = () => {
    git("worktree", "remove", "--force", folder);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    const lock = "package-lock.json";
    const isSame = readFileSync(lock, "utf8") === readFileSync(join(folder, lock), "utf8");
    const run = (...words: readonly string[]) =>
      execFileSync(process.execPath, words, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
    run("node_modules/typescript/bin/tsc", "-p", "tsconfig.json");
    run("config/setup/assets.js");
    if (!existsSync(join(folder, "dist/src/main.js"))) throw new Error(`${commit} has no program`);
    return { folder, notes: isSame ? [] : ["with the packages of this version, not its own"], remove };
  } catch (error) {
    remove();
    throw error;
  }
}
