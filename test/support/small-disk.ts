import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A file system of a few megabytes in memory, which tests fill. It needs the right to mount. */

export interface SmallDisk {
  readonly path: string;
  /** Fills it until so many bytes are left. */
  leave(bytes: number): void;
  /** Makes room again. */
  clear(): void;
  remove(): void;
}

/** @returns the reason when the system does not allow it */
export function smallDisk(
  megabytes: number,
  owner?: { readonly uid: number; readonly gid: number },
): SmallDisk | string {
  // Outside the folder of the test run, whose parents PostgreSQL's account may not enter.
  const parent = mkdtempSync("/tmp/mapwright-disk-");
  chmodSync(parent, 0o755);
  const path = join(parent, "disk");
  const own = owner ? `,uid=${owner.uid},gid=${owner.gid}` : "";
  try {
    execFileSync("mkdir", [path]);
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700${own}`, "tmpfs", path], {
      stdio: "pipe",
    });
  } catch (error) {
    rmSync(parent, { recursive: true });
    return `no file system can be mounted here: ${String((error as { stderr?: Buffer }).stderr ?? error).trim()}`;
  }
  const filler = join(path, "filler");
  return {
    path,
    leave(bytes) {
      rmSync(filler, { force: true });
      const { bavail, bsize } = statfsSync(path);
      writeFileSync(filler, Buffer.alloc(bavail * bsize - bytes));
    },
    clear: () => rmSync(filler, { force: true }),
    remove() {
      execFileSync("umount", ["--lazy", path]);
      rmSync(parent, { recursive: true });
    },
  };
}
