import t from "tap";
import { type Phrase, phraseTexts, priorityOf, readPhrase } from "../../src/search/phrase.js";
import { indexedBench } from "./support.js";

/** Whatever is looked for, the indexes find what looking at every value finds. */

const { bench, indexes } = await indexedBench(t);
const { sql } = bench;

const parts = [
  ..."aбv1",
  ..."-%_.,()/'\"\\&|*:",
  ..."市県北京駅ゆき",
  ...["ul", "st", "lake", "street", "улица", "Ёлка", "é", "e\u0301", "x\u030c", "Straße", "İ", "ΣΟΦΟΣ", "½"],
  ...["ไทย", "แลนด์", "नमस्ते", "شارع", "عمّان", "שָׁלוֹם", "서울", "ﬁne", "Ｆull", "Ⅳ", "١٢"],
  ...["☕", "🏖️", "👨‍👩‍👧", "\u202e", "\u200b", "\u00ad", "--", "..", "\t", "\u3000"],
  ...Array<string>(30).fill(" "),
];

/** Numbers from 0 to 1, the same each time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const next = numbers(11);
const text = (least: number, most: number): string =>
  Array.from(
    { length: least + Math.floor(next() * (most - least + 1)) },
    () => parts[Math.floor(next() * parts.length)],
  ).join("");

const spoken = /[\p{L}\p{N}]/u;
/** Of phrases that have words, signs alone among them lead to no object by an index. */
const withoutSigns = (phrase: string): string => {
  const words = phrase.split(/\s+/u);
  return words.some((word) => spoken.test(word))
    ? words.filter((word) => spoken.test(word)).join(" ")
    : phrase;
};

const folded = async (texts: readonly string[]): Promise<string[]> =>
  (
    await sql.query(
      "select array(select search_fold(x) from unnest($1::text[]) with ordinality u (x, n) order by n) as f",
      [texts],
    )
  ).rows[0].f;
const read = async (phrase: string): Promise<Phrase> => readPhrase(await folded(phraseTexts(phrase)));

for (const localizedValue of [false, true]) {
  t.test(`of ${localizedValue ? "localised" : "plain"} values`, async (t) => {
    const things = await bench.layer(`things${localizedValue}`, [
      { code: "name", type: "string", localizedValue },
    ]);
    const { table } = things;
    const { name } = things.physical;
    const values = Array.from({ length: 2_500 }, () => text(2, 9));
    await sql.query(
      `insert into ${table} (${name}) select ${localizedValue ? "jsonb_build_object('en', v, 'ru', 'ряд ' || n)" : "v"}
       from unnest($1::text[]) with ordinality u (v, n)`,
      [values],
    );
    await sql.query(`analyze ${table}`);
    indexes.kick();
    await indexes.idle();
    t.equal((await bench.search("lake")).indexMissing, false);

    const { rows } = await sql.query<{ id: number; fold: string }>(
      `select svc_id as id, search_fold(${name}) as fold from ${table}`,
    );
    const phrases = [
      ...Array.from({ length: 80 }, () => text(1, 5)),
      ...Array.from({ length: 80 }, () => {
        const value = [...values[Math.floor(next() * values.length)]!];
        const start = Math.floor(next() * value.length);
        return value.slice(start, start + 1 + Math.floor(next() * 8)).join("");
      }),
    ].map(withoutSigns);
    for (const phrase of phrases) {
      const sought = await read(phrase);
      const expected = rows.flatMap(({ id, fold }) => {
        const priority = fold.split("\n").includes(sought.folded) ? 30 : priorityOf(fold, sought);
        return priority && sought.needles.length > 0 ? [[id, priority]] : [];
      });
      const { hits } = await bench.search(phrase, { limit: 1_000 });
      const isExpected = new Set(expected.map(([id]) => id));
      const objects = hits.flatMap((hit) => (hit.kind === "object" ? [hit] : []));
      // Where no words begin so, what is like the phrase is found too, and nothing is worth more then.
      const hasNear =
        objects.some(({ id }) => !isExpected.has(id)) ||
        (expected.some(([, priority]) => priority === 20) &&
          objects.every(({ priority }) => priority === 10));
      if (hasNear)
        t.ok(
          objects.every(({ priority }) => priority === 10),
          JSON.stringify(phrase),
        );
      const actual = objects.flatMap(({ id, priority }) =>
        isExpected.has(id) ? [[id, hasNear ? 0 : priority]] : [],
      );
      const order = (list: unknown[][]) => list.map(String).sort();
      const own = hasNear ? expected.map(([id]) => [id, 0]) : expected;
      if (expected.length < 1_000) t.same(order(actual), order(own), JSON.stringify(phrase));
      else t.ok(actual.length >= 999, JSON.stringify(phrase));
    }
    await sql.query(`drop table ${table} cascade; delete from node where id = ${things.id}`);
  });
}
