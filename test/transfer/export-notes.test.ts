import t from "tap";
import { columnList, notesHeader, notesReadme } from "../../src/export/export-notes.js";

/** How notes of an export reach the client. */

t.test("a header has notes as JSON in ASCII", async (t) => {
  const notes = ['Texts are cut: "имя" (1 object).', "A line\r\nand another 🎄."];
  const header = notesHeader(notes);
  t.match(header, /^[\x20-\x7e]*$/);
  t.same(JSON.parse(header), notes);
});

t.test("a header stays short, and says how many notes are missing", async (t) => {
  const notes = Array.from({ length: 100 }, (_, i) => `${i} ${"ж".repeat(50)}`);
  const header = notesHeader(notes);
  t.ok(header.length <= 2_100, String(header.length));
  const shown = JSON.parse(header);
  t.same(shown.slice(0, -1), notes.slice(0, shown.length - 1));
  t.match(shown.at(-1), new RegExp(`^${101 - shown.length} more`));
  t.match(JSON.parse(notesHeader(["я".repeat(10_000)])), [/^1 more/]);
});

t.test("a note names fifty columns and counts the others", async (t) => {
  t.equal(columnList(["a", "b"]), "a, b");
  t.match(columnList(Array.from({ length: 60 }, (_, i) => `c${i}`)), /, c49 and 10 more$/);
  t.equal(notesReadme("Улицы", ["One.", "Two."]), "Улицы\n\n- One.\n- Two.\n");
});
