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
  const { env, shown } = terminal("пароль\r", "парол\u007fль\r");
  t.equal(await readPassword(env, "anna"), "пароль", "with a correction");
  t.equal(shown.join(""), "Password for anna: \nOnce more: \n");
  t.equal(env.stdout.read(), null);
});

t.test("two different passwords, none, and Ctrl-C are no password", async (t) => {
  await t.rejects(readPassword(terminal("a\r", "b\r").env, "anna"), /differ/);
  await t.rejects(readPassword(terminal("\r").env, "anna"), /empty/);
  await t.rejects(readPassword(terminal("\u0003").env, "anna"), /Cancelled/);
});

t.test("without a terminal the first line of standard input counts", async (t) => {
  const env = (...chunks: string[]) => ({
    stdin: Readable.from(chunks.map((chunk) => Buffer.from(chunk))),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  });
  t.equal(await readPassword(env("pa", "ss\r\nmore"), "anna"), "pass");
  t.equal(await readPassword(env("no line end"), "anna"), "no line end");
  await t.rejects(readPassword(env("\n"), "anna"), /No password/);
});
