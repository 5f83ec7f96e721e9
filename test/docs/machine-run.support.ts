import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { examplesOf } from "../../src/docs/build/reference/examples.js";
import type { Page } from "../../src/docs/pages.js";

/**
 * Commands that change the machine, run on one that is thrown away: in a namespace of their own, where whatever is written to
 * `/etc`, `/usr/local`, `/var` and `/opt` goes to memory. The checkout is in `/opt/mapwright`, as the pages have it.
 */

const checkout = join(dirname(fileURLToPath(import.meta.url)), "../../..");

/** Programs of the pages that need what such a machine has not: the network, people, systemd itself, or minutes. */
const leftOut: ReadonlySet<string> = new Set([
  ...["apt-get", "certbot", "curl", "rsync", "mount", "journalctl", "wrk", "npm", "npx"],
  // By `sudo`, as a user of systemd's service.
  "mapwright",
  // Installs packages, and builds.
  "node",
]);

/** What to run of a command; "" = nothing. Of a unit of systemd it is looked at whether it is there and right. */
function runOf(command: string): string {
  const [, program = ""] = /^(?:\w+=\S* )*(\S+)/.exec(command) ?? [];
  const [, unit] = /^systemctl (?:start|stop|restart|reload|status|enable --now) (\S+)$/.exec(command) ?? [];
  if (unit !== undefined) return `systemd-analyze verify ${unit}.service`;
  return program === "systemctl" || leftOut.has(program) ? "" : command;
}

/** Text and blocks of a page in their order. The text is that between the block and the last one. */
function* partsOf(markdown: string): Generator<{ text: string; info: string; code: string }> {
  for (const [, text = "", , info = "", code = ""] of markdown.matchAll(
    /((?:(?!^`{3})[^\n]*\n)*?)^(`{3,})([^\n]*)\n([\s\S]*?)^\2$/gm,
  ))
    yield { text, info, code };
}

/** The commands of a page, and in between its files: those that it names, and those at the places that the text before them has. */
function scriptOf({ markdown }: Page, folder: string): string[] {
  let place = "";
  const write = (file: string, code: string, how: string) => {
    const kept = join(folder, String(written++));
    writeFileSync(kept, code);
    return `mkdir -p "$(dirname ${file})"; cat '${kept}' ${how} ${file}`;
  };
  return [...partsOf(markdown)].flatMap(({ text, info, code }) => {
    const [language, ...words] = info.split(" ");
    if (language === "sh" && words.includes("machine"))
      return examplesOf(code).map(({ command }) => runOf(command));
    const name = words.find((word) => word.startsWith("file="))?.slice("file=".length);
    if (language === "sh" && name === undefined) return [];
    const isMore = /in the same file/.test(text);
    place =
      [...text.matchAll(/`(\/(?:etc|usr\/local)\/[^`\s]+\.?\w+)`/g)].at(-1)?.[1] ?? (isMore ? place : "");
    return [
      ...(name === undefined ? [] : [write(name, code, ">")]),
      ...(place === "" ? [] : [write(place, code, isMore ? ">>" : ">")]),
    ];
  });
}
let written = 0;

export interface MachineOptions {
  /** What the machine has before, as commands. */
  readonly before: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Without a network of its own it has that of the tests. */
  readonly ownNetwork?: boolean;
}

/** Runs the commands of some pages. @param folder for files of the run @returns what a command that failed has said; "" = none did */
export function complaintOf(
  pages: readonly Page[],
  folder: string,
  { before, environment, ownNetwork = false }: MachineOptions,
): string {
  const memory = join(folder, "memory");
  mkdirSync(memory, { recursive: true });
  const script = `set -eE
trap 'echo "$BASH_COMMAND failed" >&2' ERR
mount -t tmpfs memory '${memory}'
over() {
  mkdir -p "${memory}/$3" "${memory}/$3.work"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=${memory}/$3,workdir=${memory}/$3.work" "$2"
}
over /etc /etc etc
over /usr/local /usr/local local
over /var /var var
over /opt /opt opt
mkdir /opt/mapwright
over '${checkout}' /opt/mapwright checkout
cd /opt/mapwright
${before}
${pages.flatMap((page) => scriptOf(page, folder)).join("\n")}
`;
  const namespaces = ["--mount", ...(ownNetwork ? ["--net"] : [])];
  const { status, stdout, stderr, error } = spawnSync("unshare", [...namespaces, "bash", "-c", script], {
    encoding: "utf8",
    timeout: 120_000,
    env: environment,
  });
  return status === 0 ? "" : `${error ?? ""}${stdout}${stderr}`;
}
