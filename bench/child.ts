import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Processes of the bench, each of which answers requests one after the other. */

export interface Child<Request, Answer> {
  readonly pid: number;
  /** @throws Error with what the process said, or when it ended */
  ask(request: Request): Promise<Answer>;
  stop(): Promise<void>;
}

type Reply<Answer> =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly error: string };

/** Starts a module of `bench` (compiled, relative to this folder) that calls `answerParent`. */
export function startChild<Request, Answer>(
  file: string,
  environment: Readonly<Record<string, string>> = {},
): Child<Request, Answer> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
    serialization: "advanced",
    env: { ...process.env, ...environment },
    execArgv: [],
  });
  const gone = once(child, "exit");
  return {
    pid: child.pid ?? 0,
    ask: async (request) => {
      child.send(request as object);
      const answered = new AbortController();
      const reply = once(child, "message", answered).catch(() => undefined);
      const received = await Promise.race([reply, gone.then(() => answered.abort())]);
      if (!received) throw new Error(`${file} ended.`);
      const [message] = received as [Reply<Answer>];
      if (!message.ok) throw new Error(`${file}: ${message.error}`);
      return message.answer;
    },
    stop: async () => {
      if (child.connected) child.disconnect();
      await gone;
    },
  };
}

/** In the child: answers each request of the parent with what `work` gives, and ends when the parent lets go. */
export function answerParent<Request, Answer>(work: (request: Request) => Answer | Promise<Answer>): void {
  process.on("message", async (request: Request) => {
    let reply: Reply<Answer>;
    try {
      reply = { ok: true, answer: await work(request) };
    } catch (error) {
      reply = { ok: false, error: (error as Error).message };
    }
    process.send?.(reply);
  });
  process.on("disconnect", () => process.exit(0));
}
