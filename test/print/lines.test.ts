import t from "tap";
import { linesOf } from "../../workers/image/print/text.js";

/** Breaking of lines, with a font whose characters are all one point wide. */

const lines = (text: string, width: number) =>
  [...linesOf(text, width, (part) => [...part].length)].map(({ words }) => words.join(" "));

t.test("lines break between words and keep the text's own ends", async (t) => {
  t.same(lines("aa bb cc dd", 5), ["aa bb", "cc dd"]);
  t.same(lines("aa\r\nbb\n\ncc", 5), ["aa", "bb", "", "cc"]);
  t.same(lines("", 5), [""]);
  t.same(lines("a  b", 9), ["a  b"], "spaces stay");
});

t.test("a word that is wider than a line is broken", async (t) => {
  t.same(lines("ab 0123456789012", 5), ["ab", "01234", "56789", "012"]);
  t.same(lines("\u{1F600}".repeat(40), 25), ["\u{1F600}".repeat(25), "\u{1F600}".repeat(15)]);
  t.equal(lines("x".repeat(100_000), 50).join("").length, 100_000);
});

t.test("words that are read from right to left stand in that order", async (t) => {
  t.same(lines("שלום עולם", 20), ["עולם שלום"]);
  t.same(lines("he said שלום עולם to me", 40), ["he said עולם שלום to me"]);
  t.same(lines("שלום he said עולם", 40), ["עולם he said שלום"]);
  t.same(lines("שלום 42 עולם", 40), ["עולם 42 שלום"]);
  const [line] = linesOf("مرحبا", 40, (part) => part.length);
  t.match(line, { rightToLeft: true, turned: true });
});

t.test("characters that nobody sees are left out", async (t) => {
  t.same(lines("a\u0000b\u202ec\u200dd\tx", 40), ["abcd    x"]);
});
