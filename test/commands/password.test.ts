import { PassThrough, Readable } from "node:stream";
import t from "tap";
import { readPassword } from "../../src/commands/password.js";

/** A terminal at which these lines are typed, each after the next prompt. */
function terminal(...lines: string[]) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const shown: string[] = [];
  const stderr = new PassThrough();
  stderr.setEncoding("utf8");
  stderr.on("data", (text: string) => {
    shown.push(text);
    if (!text.endsWith(": ")) return;
    const line = lines.shift();
    if (line !== undefined) stdin.write(line);
  });
  return { env: { stdin, stdout: new PassThrough(), stderr }, shown };
}

t.test("a terminal is asked twice and shows nothing of it", async (t) => {
  const { env, shown } = terminal("паролька\r", "парол\u007fлька\r");
  t.equal(await readPassword(env, "anna"), "паролька", "with a correction");
  t.equal(shown.join(""), "Password for anna: \nOnce more: \n");
  t.equal(env.stdout.read(), null);
});

t.test("two different passwords, none, and Ctrl-C are no password", async (t) => {
  await t.rejects(readPassword(terminal("a password\r", "b password\r").env, "anna"), /differ/);
  await t.rejects(readPassword(terminal("\r").env, "anna"), /empty/);
  await t.rejects(readPassword(terminal("\u0003").env, "anna"), /Cancelled/);
  await t.rejects(readPassword(terminal("short\r").env, "anna"), /at least 8/);
  await t.rejects(readPassword(terminal("Annabella\r").env, "annabella"), /the login/);
});

t.test("without a terminal the first line of standard input counts", async (t) => {
  const env = (...chunks: string[]) => ({
    stdin: Readable.from(chunks.map((chunk) => Buffer.from(chunk))),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  });
  t.equal(await readPassword(env("pass", "word\r\nmore"), "anna"), "password");
  t.equal(await readPassword(env("no line end"), "anna"), "no line end");
  await t.rejects(readPassword(env("\n"), "anna"), /No password/);
});
