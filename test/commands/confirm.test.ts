import { PassThrough } from "node:stream";
import t from "tap";
import { confirm } from "../../src/commands/confirm.js";

/** A terminal at which this is typed after the question. */
function terminal(typed: string) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const stderr = new PassThrough();
  let shown = "";
  stderr.setEncoding("utf8").on("data", (text: string) => {
    if (!shown.includes("[y/N]") && `${shown}${text}`.includes("[y/N]")) stdin.write(typed);
    shown += text;
  });
  return { env: { stdin, stdout: new PassThrough(), stderr }, shown: () => shown };
}

t.test("only a yes at the terminal goes on", async (t) => {
  for (const typed of ["y\r", "YES\r"]) await confirm(terminal(typed).env, "Delete it?");
  for (const typed of ["\r", "n\r", "yellow\r", "\u0003", "\u0004"])
    await t.rejects(confirm(terminal(typed).env, "Delete it?"), /Nothing was changed/, JSON.stringify(typed));
  const { env, shown } = terminal("y\r");
  await confirm(env, "Delete it?");
  t.match(shown(), /Delete it\? This cannot be undone\. \[y\/N\] /);
});

t.test("without a terminal --yes is needed, and with it nobody is asked", async (t) => {
  const env = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  await t.rejects(confirm(env, "Delete it?"), /--yes/);
  const { env: asked, shown } = terminal("n\r");
  for (const one of [env, asked]) await confirm(one, "Delete it?", true);
  t.equal(shown(), "");
});
