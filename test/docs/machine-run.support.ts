import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { examplesOf } from "../../src/docs/build/reference/examples.js";
import type { Page } from "../../src/docs/pages.js";

/**
 * Commands that change the machine, run on one that is thrown away: in namespaces of their own, where whatever is written to
 * `/etc`, `/usr/local`, `/var` and `/opt` goes to memory. The checkout is in `/opt/mapwright`, as the pages have it.
 */

const checkout = join(dirname(fileURLToPath(import.meta.url)), "../../..");

/** Commands that do not run, and why. */
export const leftOut: readonly (readonly [RegExp, string])[] = [
  [/^apt-get install /, "needs the network"],
  [/^certbot /, "needs a name that the internet knows"],
  [
    /^(?:curl\b.*https:\/\/maps\.example\.org|rsync -a old\.example\.org|mount -t nfs )/,
    "needs another machine",
  ],
  [/^journalctl /, "needs systemd itself"],
  [/^systemctl edit /, "opens an editor"],
  [/^curl\b.*:6081\//, "needs Varnish as a service, which test/cdn has"],
  [/^node config\/setup\/prepare\.js /, "installs packages, and builds"],
  [/^npm run (?:bench|soak)\b/, "takes minutes; test/bench has shorter ones"],
];

/** What to run of a page's `sh machine` block. */
const commandsOf = (code: string): string[] =>
  examplesOf(code)
    .map(({ command }) => command)
    .filter((command) => !leftOut.some(([pattern]) => pattern.test(command)));

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
      return commandsOf(code).map((command) => `{ ${command}\n} <'${join(folder, "typed")}'`);
    const name = words.find((word) => word.startsWith("file="))?.slice("file=".length);
    // Those that show a file of the checkout are copied by commands.
    if ((language === "sh" && name === undefined) || words.some((word) => word.startsWith("from=")))
      return [];
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

/**
 * One server at a time, as it runs in another terminal or as systemd's service: `npm start` is what it comes to when nothing is left
 * to prepare, and of systemd there is what the unit of Mapwright asks for. Other units are checked.
 */
const serverOf = (folder: string): string => `
server=''
end() {
  [ -z "$server" ] || { kill "$server"; wait "$server" || :; }
  server=''
}
serve() {
  end
  kind=$1
  shift
  # What the last one has said must be gone before it is looked at.
  : >'${folder}/said'
  "$@" >>'${folder}/said' 2>&1 &
  server=$!
  until grep -q 'Mapwright is ready' '${folder}/said'; do
    kill -0 "$server" || { cat '${folder}/said' >&2; return 1; }
    sleep 0.1
  done
}
npm() {
  [ "$1" = start ]
  shift
  [ "\${1-}" != -- ] || shift
  serve terminal node dist/src/main.js serve --local "$@"
}
unit() { sed -n "s/^$1=//p" "/etc/systemd/system/\${2-mapwright}.service"; }
once() {
  env -i -C "$(unit WorkingDirectory $1)" PATH="$PATH" $(unit Environment $1) \
    setpriv --reuid "$(unit User $1)" --regid "$(unit Group $1)" --clear-groups $(unit ExecStart $1)
}
service() {
  local state=/var/lib/$(unit StateDirectory)
  mkdir -p "$state"
  chown -R "$(unit User):$(unit Group)" "$state"
  chmod "$(unit StateDirectoryMode)" "$state"
  serve unit env -i -C "$(unit WorkingDirectory)" PATH="$PATH" $(unit Environment) \
    setpriv --reuid "$(unit User)" --regid "$(unit Group)" --clear-groups $(unit ExecStart)
}
systemctl() {
  [ "$1" != daemon-reload ] || return 0
  local name=\${*: -1}
  case $name in
  *.timer) systemd-analyze verify "$name" ;;
  *) systemd-analyze verify "$name.service" ;;
  esac
  [ "$1 $name" != 'start mapwright-backup' ] || once "$name"
  [ "$name" = mapwright ] || return 0
  case $1 in
  start | restart | enable) service ;;
  stop) [ "$kind" != unit ] || end ;;
  status) kill -0 "$server" ;;
  esac
}
`;

/** Runs some pages, and commands between them, one after another. @param folder for files of the run @returns what a command that failed has said; "" = none did */
export function complaintOf(
  story: readonly (Page | string)[],
  folder: string,
  environment: NodeJS.ProcessEnv,
): string {
  const memory = join(folder, "memory");
  mkdirSync(memory, { recursive: true });
  // For commands that ask for a password.
  writeFileSync(join(folder, "typed"), "correct-horse\n");
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
ip link set lo up
cd /opt/mapwright
rm -rf data backup .git
# Links that the preparation makes for the place of a checkout.
ln -sf ../../dist/src/main.js node_modules/.bin/mapwright
find node_modules/mapnik/prebuilds -type l | while read -r link; do
  ln -sfn "$(readlink "$link" | sed 's,^${checkout}/,/opt/mapwright/,')" "$link"
done
${serverOf(folder)}
${story.flatMap((part) => (typeof part === "string" ? part : scriptOf(part, folder))).join("\n")}
end
`;
  const namespaces = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const { status, stdout, stderr, error } = spawnSync("unshare", [...namespaces, "bash", "-c", script], {
    encoding: "utf8",
    timeout: 850_000,
    env: environment,
  });
  return status === 0 ? "" : `${error ?? ""}${stdout}${stderr}`;
}
