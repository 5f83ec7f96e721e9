import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { requireGoodPassword } from "../access/passwords.js";
import { type CommandEnvironment, CommandError } from "./environment.js";

const longestLine = 4_096;

/**
 * Reads a password: asked for twice without echo at a terminal, else the first line of standard input.
 * @throws CommandError when there is none, or the two differ; Failure as `requireGoodPassword`
 */
export async function readPassword(env: CommandEnvironment, login: string): Promise<string> {
  if (!env.stdin.isTTY) {
    const password = await firstLine(env);
    if (password === "") throw new CommandError("No password came on standard input.");
    requireGoodPassword(login, password);
    return password;
  }
  const password = await ask(env, `Password for ${login}: `);
  if (password === "") throw new CommandError("The password is empty.");
  requireGoodPassword(login, password);
  if ((await ask(env, "Once more: ")) !== password) throw new CommandError("The two passwords differ.");
  return password;
}

async function firstLine(env: CommandEnvironment): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of env.stdin) {
    const buffer = Buffer.from(chunk as Uint8Array | string);
    chunks.push(buffer);
    bytes += buffer.length;
    if (buffer.includes(0x0a) || bytes > longestLine) break;
  }
  return Buffer.concat(chunks).toString("utf8").split(/\r?\n/, 1)[0]!;
}

function ask(env: CommandEnvironment, question: string): Promise<string> {
  // readline edits the line; its echo is discarded.
  const discarded = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: env.stdin, output: discarded, terminal: true });
  return new Promise((resolve, reject) => {
    let answer: string | undefined;
    lines.once("line", (line) => {
      answer = line;
      lines.close();
    });
    lines.once("SIGINT", () => lines.close());
    lines.once("close", () => {
      env.stderr.write("\n");
      if (answer === undefined) reject(new CommandError("Cancelled."));
      else resolve(answer);
    });
    // Not earlier: only now has the terminal stopped echoing.
    env.stderr.write(question);
  });
}
