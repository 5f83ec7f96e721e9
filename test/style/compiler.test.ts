import t from "tap";
import { systemClock } from "../../src/clock.js";
import { busy, Failure } from "../../src/errors.js";
import { HostError } from "../../src/hosts/host.js";
import type { CompileRequest, CompileResponse } from "../../src/hosts/messages.js";
import { createStyleCompiler, type StyleOwner, StyleTimeout } from "../../src/style/compiler.js";
import { compileStyle } from "../../workers/render/compile.js";
import { Hours } from "../support/hours.js";

/** A host in this process that counts what it is asked. */
function host(
  answer: (request: CompileRequest) => CompileResponse | Promise<CompileResponse> = compileStyle,
) {
  const asked: CompileRequest[] = [];
  return {
    asked,
    call: async (_kind: "compile", request: CompileRequest) => {
      asked.push(request);
      return answer(request);
    },
  };
}
const request = (layerStyle: string, layerCode = "a"): CompileRequest => ({
  mapStyle: "",
  layerStyle,
  layerCode,
  deadlineMs: 2_000,
});
const own: StyleOwner = { project: 1, stored: false };
const reason = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "",
    (error: unknown) =>
      error instanceof Failure ? `${error.kind} ${error.code} ${error.message}` : `${error}`,
  );

t.test("a style is compiled once, however often and at once it is asked for", async (t) => {
  const render = host();
  const styles = createStyleCompiler(render, { deadlineMs: 5_000 });
  const [first, second] = await Promise.all([
    styles.compile(request("#a{line-width:2}"), own),
    styles.compile(request("#a{line-width:2}"), own),
  ]);
  t.equal(first.style.bufferPixels, 5);
  t.same(second, first);
  t.same(await styles.compile({ ...request("#a{line-width:2}"), deadlineMs: 9_000 }, own), first);
  t.equal(render.asked.length, 1);
  await styles.compile(request("#a{line-width:3}"), own);
  await styles.compile({ ...request("#a{line-width:2}"), mapStyle: "#c{line-width:1}" }, own);
  await styles.compile({ mapStyle: "#a{line-width:2}", deadlineMs: 2_000 }, own);
  t.equal(render.asked.length, 4);
});

t.test(
  "layers of the same style share its compilation, unless the map's style names one of them",
  async (t) => {
    const render = host();
    const styles = createStyleCompiler(render, { deadlineMs: 5_000 });
    const compile = async (code: string, mapStyle: string) => {
      const { style } = await styles.compile({ ...request("#x{line-width:2}", code), mapStyle }, own);
      return style.styles.flatMap(({ rules }) => rules.flatMap(({ symbolizers }) => symbolizers));
    };
    const plain = await compile("roads", "");
    t.same(await compile("rivers", ""), plain);
    t.equal(render.asked.length, 1);
    const mapStyle = "#roads{line-color:#f00}";
    t.same(await compile("rivers", mapStyle), plain);
    t.same(await compile("streams", mapStyle), plain);
    t.equal(render.asked.length, 2);
    const [road] = await compile("roads", mapStyle);
    t.match(road?.attributes.stroke, /ff0000/);
    t.equal(render.asked.length, 3);
  },
);

t.test(
  "a style that is not valid is refused in its author's terms and remembered for a minute",
  async (t) => {
    let now = 1;
    const render = host();
    const styles = createStyleCompiler(render, {
      deadlineMs: 5_000,
      clock: { ...systemClock, now: () => now },
    });
    const message =
      "execution invalid_style Line 1, column 4: There is no property line-widht; did you mean line-width?";
    t.equal(await reason(styles.compile(request("#a{line-widht:2}"), own)), message);
    t.equal(await reason(styles.compile(request("#a{line-widht:2}"), own)), message);
    t.equal(render.asked.length, 1);
    now += 61_000;
    t.equal(await reason(styles.compile(request("#a{line-widht:2}"), own)), message);
    t.equal(render.asked.length, 2);
  },
);

t.test(
  "a style that takes too long or ends its host is refused, and tried again after ten seconds",
  async (t) => {
    const troubles: (() => Promise<CompileResponse>)[] = [
      () => Promise.reject(new HostError("deadline", "the render host …")),
      () => Promise.reject(new HostError("died", "the render host …")),
      async () => ({ ok: false, error: "Compiling it took too long: 2 s.", deadline: true }),
    ];
    for (const trouble of troubles) {
      let now = 1;
      const render = host(trouble);
      const styles = createStyleCompiler(render, {
        deadlineMs: 5_000,
        clock: { ...systemClock, now: () => now },
      });
      for (const count of [1, 2]) {
        for (const _again of [1, 2]) {
          t.match(
            await reason(styles.compile(request("#a{}"), own)),
            /^execution invalid_style .*took too long/,
          );
        }
        t.equal(render.asked.length, count);
        const refusal = await styles.compile(request("#a{}"), own).catch((error: unknown) => error);
        t.ok(refusal instanceof StyleTimeout);
        now += 11_000;
      }
    }
  },
);

t.test(
  "styles are compiled one at a time, so that the deadline of one does not count from when it waits",
  async (t) => {
    let running = 0;
    let most = 0;
    const render = host(async (asked) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return compileStyle(asked);
    });
    const styles = createStyleCompiler(render, { deadlineMs: 5_000 });
    await Promise.all([1, 2, 3, 4].map((width) => styles.compile(request(`#a{line-width:${width}}`), own)));
    t.equal(render.asked.length, 4);
    t.equal(most, 1);
  },
);

t.test("what is not the style's fault is not said to be", async (t) => {
  const full = createStyleCompiler(
    host(() => Promise.reject(busy("Too much work waits."))),
    { deadlineMs: 5_000 },
  );
  t.match(await reason(full.compile(request("#a{}"), own)), /^busy busy/);
  const stopped = createStyleCompiler(
    host(() => Promise.reject(new HostError("stopped", "gone"))),
    { deadlineMs: 5_000 },
  );
  t.match(await reason(stopped.compile(request("#a{}"), own)), /^HostError/);
});

/** A host that takes 1.6 s of a clock of its own for each style, and that clock. */
function slowHost() {
  let now = 0;
  const begun: string[] = [];
  const render = host(async (asked) => {
    begun.push(asked.layerCode!);
    await new Promise((resolve) => setImmediate(resolve));
    now += 1_600;
    return compileStyle(asked);
  });
  const clock = { ...systemClock, now: () => now };
  const styles = createStyleCompiler(render, { deadlineMs: 5_000, clock });
  const ask = (code: string, whose: StyleOwner) =>
    styles.compile(request(`#a{line-width:1}/* ${code} */`, code), whose);
  return { begun, ask };
}

t.test("stored styles are compiled before those that are checked, whosever they are", async (t) => {
  const { begun, ask } = slowHost();
  const checks = Array.from({ length: 5 }, (_, index) => ask(`new${index}`, { project: 1, stored: false }));
  await Promise.all([ask("tile", { project: 2, stored: true }), ask("own", { project: 1, stored: true })]);
  t.same(begun.slice(0, 3), ["new0", "tile", "own"]);
  await Promise.all(checks);
});

t.test("projects have their styles compiled in turn", async (t) => {
  for (const stored of [false, true]) {
    const { begun, ask } = slowHost();
    const many = Array.from({ length: 14 }, (_, index) => ask(`first${index}`, { project: 1, stored }));
    await ask("second", { project: 2, stored });
    t.same(begun.slice(0, 2), ["first0", "second"]);
    await Promise.all(many);
  }
});

t.test("a project that has too many styles checked at once is refused, and draws all its own", async (t) => {
  const { begun, ask } = slowHost();
  const checks = Array.from({ length: 40 }, (_, index) => ask(`new${index}`, { project: 1, stored: false }));
  const settled = Promise.allSettled(checks);
  t.match(await reason(checks[39]!), /^busy busy/);
  t.same(begun, ["new0"], "at once");
  await Promise.all(
    Array.from({ length: 40 }, (_, index) => ask(`layer${index}`, { project: 1, stored: true })),
  );
  const answers = await settled;
  t.equal(answers.filter(({ status }) => status === "rejected").length, 7);
});

t.test(
  "a stored style goes first although the same one waits to be checked, and is compiled once",
  async (t) => {
    const { begun, ask } = slowHost();
    const checks = ["a", "b", "c", "same"].map((code) => ask(code, { project: 1, stored: false }));
    await ask("same", { project: 2, stored: true });
    t.same(begun.slice(0, 2), ["a", "same"]);
    await Promise.all(checks);
    t.same(begun, ["a", "same", "b", "c"]);
  },
);

t.test("while a style of one project takes long, those of others are compiled beside it", async (t) => {
  const hours = new Hours();
  const ends: (() => void)[] = [];
  const render = host((asked) =>
    asked.layerStyle?.includes("width:9")
      ? new Promise((resolve) => ends.push(() => resolve(compileStyle(asked))))
      : compileStyle(asked),
  );
  const styles = createStyleCompiler(render, { deadlineMs: 5_000, clock: hours });
  const slow = [styles.compile(request("#a{line-width:9}"), own)];
  await hours.turn();
  const others = [2, 3, 4].map((project) =>
    styles.compile(request(`#a{line-width:${project}}`), { project, stored: project === 4 }),
  );
  slow.push(styles.compile(request("#a{line-width:99}"), own));
  await hours.turn();
  t.equal(render.asked.length, 1, "short ones are compiled one after the other");
  await hours.pass(200);
  await Promise.all(others);
  t.equal(ends.length, 1, "but none of the same project beside its own");
  ends[0]!();
  await hours.turn();
  ends[1]!();
  await Promise.all(slow);
  t.equal(render.asked.length, 5);
});
