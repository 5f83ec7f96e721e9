import t from "tap";
import { linesOf } from "../../workers/image/print/text.js";

/** Breaking of lines, with a font whose characters are all one point wide. */

const lines = (text: string, width: number) =>
  [...linesOf(text, width, (part) => [...part].length)].map(({ parts }) => parts.join(""));

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
  t.match(line, { rightToLeft: true });
});

/** As in UAX #9, capitals stand for letters that are read from right to left. */
const hebrew = (text: string) =>
  text.replace(/[A-Z]/g, (letter) => String.fromCharCode(0x5d0 + letter.charCodeAt(0) - 65));
const capitals = (text: string) =>
  text.replace(/[\u05d0-\u05ea]/g, (letter) => String.fromCharCode(65 + letter.charCodeAt(0) - 0x5d0));
/** Lines as they are seen from left to right. The font turns texts of these letters round. */
const seen = (text: string, width = 60) =>
  [...linesOf(hebrew(text), width, (part) => [...part].length)].map(({ parts }) =>
    parts
      .map((part) => (/[\u05d0-\u05ea]/.test(part) ? [...part].reverse().join("") : part))
      .map(capitals)
      .join(""),
  );

t.test("numbers, signs and Latin words stand where the algorithm of Unicode has them", async (t) => {
  for (const [text, expected] of [
    ["PRICE 1,250.50 ₪ ONLY", "YLNO ₪ 1,250.50 ECIRP"],
    ["PHONE 03-123-4567", "03-123-4567 ENOHP"],
    ["HOUSE12 NEW", "WEN 12ESUOH"],
    ["he has BOOKS 42 now", "he has 42 SKOOB now"],
    ["TOWN tel aviv HERE", "EREH tel aviv NWOT"],
    ["ONE, TWO!", "!OWT ,ENO"],
    ["see ONE, TWO!", "see OWT ,ENO!"],
    ["50% OF ALL", "LLA FO 50%"],
    ["ONE  TWO", "OWT  ENO"],
    ["see ONE  ", "see ENO  "],
    ["\u{1F600} ONE \u{1F600}\u{1F601}", "\u{1F601}\u{1F600} ENO \u{1F600}"],
    ["v2.0-BETA/x", "v2.0-ATEB/x"],
  ] as const) {
    t.same(seen(text), [expected], text);
  }
});

t.test("brackets are mirrored where they are read from right to left", async (t) => {
  for (const [text, expected] of [
    ["ONE (TWO) THREE", "EERHT (OWT) ENO"],
    ["TOWN (haifa) NORTH", "HTRON (haifa) NWOT"],
    ["WAY [42] «NEW»", "«WEN» [42] YAW"],
    ["a (ONE) b", "a (ENO) b"],
    ["a (ONE 2) b", "a (2 ENO) b"],
    ["ONE 3 < 5", "5 > 3 ENO"],
    ["(", "("],
  ] as const) {
    t.same(seen(text), [expected], text);
  }
});

t.test("the order is that within the line, by the directions of the paragraph", async (t) => {
  t.same(seen("ONE TWO THREE FOUR", 10), ["OWT ENO", "RUOF EERHT"]);
  t.same(seen("ONE tel aviv TWO", 9), ["tel ENO", "OWT aviv"]);
  t.same(seen("ONE (TWO THREE) FOUR", 9), ["OWT) ENO", "(EERHT", "RUOF"]);
  t.same(seen("say ONE TWO 7 now", 11), ["say OWT ENO", "7 now"]);
  t.same(seen("ABCDEFGHIJ", 4), ["DCBA", "HGFE", "JI"], "a word that is cut");
  const sides = (text: string) =>
    [...linesOf(hebrew(text), 9, (part) => part.length)].map((line) => line.rightToLeft);
  t.same(sides("ONE and other words"), [true, true, true], "a paragraph's lines begin on one side");
  t.same(sides("ONE\none TWO\n12 (ONE)\n12"), [true, false, true, false], "each paragraph on its own");
});

t.test("a text from right to left takes time in proportion to its length", async (t) => {
  for (const part of ["ONE (two) 3 ", "A(", "A1", "([{A}])", "A 12.3 % 1, 2"]) {
    const text = hebrew(part.repeat(Math.ceil(200_000 / part.length)));
    let length = 0;
    for (const line of linesOf(text, 80, (some) => some.length)) length += line.parts.join("").length;
    t.ok(length > 190_000);
  }
});

t.test("characters that nobody sees are left out", async (t) => {
  t.same(lines("a\u0000b\u202ec\u200dd\tx", 40), ["abcd    x"]);
});
