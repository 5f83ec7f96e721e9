import fc from "fast-check";
import type { Test } from "tap";

/**
 * Made-up input for the parsers that are ours. `npm test` tries some thousand cases, always the same; `npm run fuzz` as many as
 * are asked for, always others. What once broke a parser becomes one of the `kept` cases of its test.
 */

const cases = Number(process.env.FUZZ_CASES ?? 2_000);
const seed = Number(process.env.FUZZ_SEED ?? 1);

/** @param share of the cases, for what takes longer */
export async function holds<Value>(
  t: Test,
  arbitrary: fc.Arbitrary<Value>,
  property: (value: Value) => void | Promise<void>,
  { kept = [], share = 1 }: { readonly kept?: readonly Value[]; readonly share?: number } = {},
): Promise<void> {
  const numRuns = Math.max(10, Math.round(cases * share));
  const details = await fc.check(
    fc.asyncProperty(arbitrary, async (value) => {
      await property(value);
    }),
    { numRuns, seed, examples: kept.map((value) => [value] as [Value]) },
  );
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? `${numRuns} cases`);
}

/** Calls a parser, which has to answer or to throw one of these errors. @returns undefined when it refused */
export function answerOf<Answer>(
  parse: () => Answer,
  ...refusals: readonly (abstract new (
    ...args: never[]
  ) => Error)[]
): Answer | undefined {
  try {
    return parse();
  } catch (error) {
    if (refusals.some((refusal) => error instanceof refusal)) return undefined;
    throw error;
  }
}

/** Texts with what such a parser looks for, and what it may not expect. */
export const textsOf = (tokens: readonly string[], maxLength = 40): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom(...tokens) },
        { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
        {
          weight: 1,
          arbitrary: fc.constantFrom("\0", "\ufeff", "\ud800", "\u202e", "\r\n", " ", "'", '"', "\\"),
        },
      ),
      { maxLength },
    )
    .map((parts) => parts.join(""));

/** Changes of some places of these bytes: other values, pieces taken away, repeated or put elsewhere. */
export const damaged = (originals: readonly Buffer[]): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      fc.constantFrom(...originals),
      fc.array(
        fc.record({
          kind: fc.constantFrom("byte", "cut", "repeat", "number", "end"),
          at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
          length: fc.integer({ min: 1, max: 64 }),
          value: fc.constantFrom(0, 1, 2, 0x7f, 0x80, 0xff, 0xfffe, 0x7fffffff, 0x80000000, 0xffffffff),
        }),
        { minLength: 1, maxLength: 6 },
      ),
    )
    .map(([original, changes]) => {
      let bytes = Buffer.from(original);
      for (const { kind, at, length, value } of changes) {
        const place = Math.floor(at * bytes.length);
        if (kind === "byte" && bytes.length > 0) bytes[place] = value & 0xff;
        else if (kind === "number" && place + 4 <= bytes.length) bytes.writeUInt32LE(value, place);
        else if (kind === "cut")
          bytes = Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + length)]);
        else if (kind === "repeat")
          bytes = Buffer.concat([bytes.subarray(0, place + length), bytes.subarray(place)]);
        else if (kind === "end") bytes = bytes.subarray(0, place);
      }
      return bytes;
    });
