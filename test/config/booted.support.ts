import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * systemd itself, as the first process of namespaces: it sees this machine's files, and what it writes is in memory and goes
 * away with it. It has no network but its own loopback.
 */

const namespaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child"];

/** The machine's files below `root`, those of the checkout at `/opt/mapwright`, and a folder for results at `/result`. */
const mounts = (folder: string): string => `set -e
memory='${folder}/memory'
root='${folder}/root'
mkdir -p "$memory" "$root"
mount -t tmpfs memory "$memory"
over() {
  mkdir -p "$memory/$3" "$memory/$3.work"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$memory/$3,workdir=$memory/$3.work" "$2"
}
over / "$root" all
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs run "$root/run"
mount -t tmpfs tmp "$root/tmp"
mkdir -p "$root/opt/mapwright" "$root/result"
over "$PWD" "$root/opt/mapwright" checkout
mount --bind '${folder}/result' "$root/result"
# Nothing of this machine starts there.
rm -rf "$root"/etc/systemd/system/*.wants "$root/opt/mapwright/data"
ip link set lo up
`;

/** Why there cannot be such a machine here; "" = there can. */
export function hindrance(folder: string): string {
  mkdirSync(join(folder, "result"), { recursive: true });
  const { status, stderr, error } = spawnSync("unshare", [...namespaces, "bash", "-c", mounts(folder)], {
    encoding: "utf8",
    timeout: 30_000,
  });
  return status === 0 ? "" : `${error ?? ""}${stderr}`;
}

export interface Booted {
  readonly status: number;
  readonly said: string;
}

/**
 * Boots, runs a script as root once the machine is up, and ends the machine.
 * @param prepare a script that runs in the machine's files before it boots
 * @throws Error when there is no end of it within some minutes
 */
export async function boot(folder: string, prepare: string, script: string): Promise<Booted> {
  mkdirSync(join(folder, "result"), { recursive: true });
  writeFileSync(join(folder, "result/prepare"), prepare);
  writeFileSync(join(folder, "result/script"), script);
  const start = `${mounts(folder)}
cat > "$root/etc/systemd/system/try.service" <<'unit'
[Service]
Type=oneshot
ExecStart=/bin/bash -c 'bash -eE /result/script; echo $? > /result/status'
StandardOutput=file:/result/said
StandardError=inherit
unit
chroot "$root" bash -e /result/prepare
exec chroot "$root" env -i container=other PATH="$PATH" /lib/systemd/systemd --unit=try.service`;
  const child = spawn("unshare", [...namespaces, "bash", "-c", start], { stdio: ["ignore", "pipe", "pipe"] });
  let console = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      console = (console + text).slice(-10_000);
    });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let isEnded = false;
  void ended.then(() => {
    isEnded = true;
  });
  const read = (name: string) => {
    const path = join(folder, "result", name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  };
  const until = Date.now() + 240_000;
  while (!isEnded && read("status") === "" && Date.now() < until) await sleep(100);
  const [status, said] = [read("status"), read("said")];
  child.kill("SIGKILL");
  await ended;
  if (status === "") throw new Error(`The machine did nothing: ${console}${said}`);
  return { status: Number(status), said };
}
