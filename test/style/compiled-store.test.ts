import t from "tap";
import { systemClock } from "../../src/clock.js";
import type { CompileRequest } from "../../src/hosts/messages.js";
import { openRedis } from "../../src/storage/redis.js";
import { CompiledStore, compilerDigest } from "../../src/style/compiled-store.js";
import { createStyleCompiler } from "../../src/style/compiler.js";
import { compileStyle } from "../../workers/render/compile.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";

/** Compiled styles in Redis: found by nodes that start, and harmless when they are damaged. */

const redis = openRedis(testRedisUrl(), quietLog);
await redis.connect();
t.teardown(() => redis.disconnect());

const css = `#a { marker-width: [size]; marker-file: url(icon:tree);
  [kind = 'x'][zoom > 5] { text-name: "[name]"; text-face-name: "A project's", "Open Sans Regular"; }
  ::outline { line-color: #123456; opacity: 0.5; } }`;
const request = (layerStyle: string): CompileRequest => ({
  mapStyle: "Map { background-color: #aabbcc; }",
  layerStyle,
  layerCode: "a",
  deadlineMs: 5_000,
});

/** A node: its compiler, and the styles that its host had to compile. */
function node(prefix: string, compiler = compilerDigest()) {
  const compiled: string[] = [];
  const styles = createStyleCompiler(
    {
      call: async (_kind, request) => {
        compiled.push(request.layerStyle ?? "");
        return compileStyle(request);
      },
    },
    { deadlineMs: 5_000, store: new CompiledStore({ redis, prefix, compiler, clock: systemClock }) },
  );
  const compile = (layerStyle: string, stored = true) =>
    styles.compile(request(layerStyle), { project: 1, stored });
  return { compiled, compile };
}

/** The keys, as soon as there are so many. */
async function keysOf(prefix: string, count = 1): Promise<string[]> {
  for (;;) {
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length === count) return keys;
    await systemClock.turn();
  }
}

t.test("a node that starts finds what another compiled", async (t) => {
  const prefix = freshPrefix();
  const first = node(prefix);
  const expected = await first.compile(css);
  const [key] = await keysOf(prefix);
  t.ok((await redis.ttl(key!)) > 0, "it does not stay for ever");
  const second = node(prefix);
  t.strictSame(await second.compile(css), expected);
  t.same(second.compiled, []);
  await second.compile("#a { line-width: 7; }");
  t.same(second.compiled, ["#a { line-width: 7; }"], "other styles are compiled");
});

t.test("another compiler finds nothing", async (t) => {
  const prefix = freshPrefix();
  await node(prefix).compile(css);
  await keysOf(prefix);
  const other = node(prefix, "other");
  await other.compile(css);
  t.same(other.compiled, [css]);
});

t.test("what is only checked, or invalid, is not stored", async (t) => {
  const prefix = freshPrefix();
  const { compile } = node(prefix);
  await compile("#a { line-width: 3; }", false);
  await t.rejects(compile("#a { line-width: ; }"));
  await compile(css);
  t.equal((await keysOf(prefix)).length, 1);
});

t.test("a damaged or foreign entry is compiled again", async (t) => {
  const prefix = freshPrefix();
  const expected = await node(prefix).compile(css);
  const [key] = await keysOf(prefix);
  const value = (await redis.get(key!))!;
  const { createHash } = await import("node:crypto");
  const signed = (text: string) => createHash("sha256").update(text).digest("base64url") + text;
  for (const entry of [
    "",
    "x",
    value.slice(0, -1),
    value.replace("0.5", "0.9"),
    signed(""),
    signed("null"),
    signed("{}"),
    signed('{"style":{"styles":[],"fields":[],"bufferPixels":"1"},"map":{}}'),
    signed(
      '{"style":{"styles":[{"name":"","attributes":{"a":1},"rules":[]}],"fields":[],"bufferPixels":1},"map":{}}',
    ),
    signed(value.slice(43).replace('"symbolizers":[', '"symbolizers":[null,')),
    signed(
      JSON.stringify({ style: { styles: [], fields: ["x".repeat(2 ** 20)], bufferPixels: 1 }, map: {} }),
    ),
  ]) {
    await redis.set(key!, entry);
    const { compile, compiled } = node(prefix);
    t.strictSame(await compile(css), expected, entry.slice(0, 80));
    t.same(compiled, [css]);
    // It was stored again in the background.
    while ((await redis.get(key!)) !== value) await systemClock.turn();
  }
  await redis.del(key!);
  await redis.lpush(key!, "a list");
  const { compile, compiled } = node(prefix);
  t.strictSame(await compile(css), expected);
  t.same(compiled, [css]);
});

t.test("without Redis styles are compiled", async (t) => {
  const away = openRedis("redis://127.0.0.1:1", quietLog);
  t.teardown(() => away.disconnect());
  const store = new CompiledStore({ redis: away, prefix: "", compiler: "c", clock: systemClock });
  const answer = compileStyle(request(css));
  t.ok(answer.ok);
  if (answer.ok) store.put("key", answer);
  t.equal(await store.get("key"), undefined);
});
