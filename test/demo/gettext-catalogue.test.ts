import t from "tap";
import { readCatalogue } from "../../src/demo/gettext-catalogue.js";
import { catalogue } from "./catalogues.support.js";

const names = { "2886242": "Köln", "524901": "Москва", "1816670": "北京" };

t.test("translations are read, of either order of bytes", async (t) => {
  for (const isLittle of [true, false])
    t.same([...readCatalogue(catalogue(names, isLittle))], Object.entries(names));
  t.same([...readCatalogue(catalogue({}))], []);
});

t.test("a file that is no catalogue, or cut anywhere, is refused", async (t) => {
  const whole = catalogue(names);
  // The last byte ends the last text.
  for (let length = 0; length < whole.length - 1; length++)
    t.throws(() => readCatalogue(whole.subarray(0, length)), /no catalogue|is cut/, String(length));
  t.throws(() => readCatalogue(Buffer.from("a text of more than twenty bytes")), /no catalogue/);
});

t.test("tables that lie are refused before much is read", async (t) => {
  const changed = (word: number, value: number) => {
    const file = catalogue(names);
    file.writeUInt32LE(value, 4 * word);
    return file;
  };
  // The number of texts, the places of both tables, the length and the place of a text.
  for (const word of [2, 3, 4, 7, 8])
    t.throws(() => readCatalogue(changed(word, 0xffffffff)), /tables are wrong/, String(word));
  const many = Buffer.alloc(1_000_000);
  many.writeUInt32LE(0x950412de, 0);
  many.writeUInt32LE(50_000, 8);
  many.writeUInt32LE(28, 12);
  many.writeUInt32LE(28 + 8 * 50_000, 16);
  for (let entry = 0; entry < 100_000; entry++) many.writeUInt32LE(900_000, 28 + 8 * entry);
  t.throws(() => readCatalogue(many), /tables are wrong/, "each text is most of the file");
});
