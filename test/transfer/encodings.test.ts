import t from "tap";
import { detectEncoding, EncodingDetector } from "../../workers/transfer/detect-encoding.js";
import { encodingOf, encodingOfLanguageId, requestedEncoding } from "../../workers/transfer/encodings.js";
import { encode } from "../support/encode.js";

/** Names of encodings, and encodings found from bytes. */

t.test("encodings have many names", async (t) => {
  const names = {
    "utf-8": ["UTF-8", "utf8", "UTF8", "65001", "cp65001", "utf-8-sig", " utf_8 "],
    "windows-1251": "cp1251 CP-1251 windows-1251 win1251 1251 ANSI_1251 x-cp1251 WindowsCyrillic".split(" "),
    ibm866: ["cp866", "IBM866", "866", "DOS866", "CodePage866", "OEM 866", "dos-866"],
    "koi8-r": ["KOI8-R", "koi8", "koi8r", "20866", "cskoi8r"],
    "koi8-u": ["KOI8-U"],
    "utf-16le": ["UTF-16LE", "utf-16", "unicode", "1200"],
    "utf-16be": ["utf-16be"],
    "windows-1252": ["latin1", "ISO-8859-1", "iso8859_1", "88591", "WindowsLatin1", "ANSI 1252", "l1"],
    "windows-1250": ["cp1250", "WindowsLatin2"],
    "iso-8859-5": ["ISO 8859-5", "ISO88595", "cyrillic"],
    "x-mac-cyrillic": ["MacCyrillic", "10007"],
    gbk: ["936", "gb2312"],
  };
  for (const [label, all] of Object.entries(names))
    for (const name of all) t.equal(encodingOf(name), label, name);
  for (const name of ["", "Neutral", "none", "cp437", "99999", "__proto__", "/etc/passwd", "constructor"])
    t.equal(encodingOf(name), undefined, name);
  t.strictSame([0xc9, 0x65, 0x26, 0x03, 0x57, 0, 1].map(encodingOfLanguageId), [
    "windows-1251",
    "ibm866",
    "ibm866",
    "windows-1252",
    undefined,
    undefined,
    undefined,
  ]);
  t.equal(requestedEncoding("1251"), "windows-1251");
  t.throws(() => requestedEncoding("klingon"), { code: "invalid_value", data: { parameter: "encoding" } });
});

const russian = [
  "Москва",
  "МОСКВА",
  "дом",
  "ДОМ",
  "ул. Ленина, 5",
  "УЛ. ЛЕНИНА, Д. 5",
  "река",
  "ОЗЕРО БАЙКАЛ",
  "лес",
  "Ёлкино",
  "Объект №7;Жилой дом;37,5",
  "г. Санкт-Петербург — «Северная столица»",
  "СЪЕЗД ЩЕРБИНКА",
  "Школа",
  "МАГАЗИН",
  "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему.",
  "ВСЕ СМЕШАЛОСЬ В ДОМЕ ОБЛОНСКИХ.",
  "id;name;type\n1;Тверская;street\n2;Арбат;street\n",
];
const ukrainian = ["Київ", "вулиця Хрещатик", "Дніпропетровська область", "ЛЬВІВ", "Запоріжжя є містом"];

t.test("Russian is told apart in all its encodings, in words of any case", async (t) => {
  for (const label of ["windows-1251", "ibm866", "koi8-r", "utf-8"])
    for (const text of russian.filter((one) => encode(one, label) !== undefined))
      t.equal(detectEncoding(encode(text, label)!), label, `${label}: ${text}`);
});

t.test("Ukrainian is told apart", async (t) => {
  for (const label of ["windows-1251", "koi8-u", "utf-8"])
    for (const text of ukrainian) {
      const bytes = encode(text, label)!;
      t.equal(new TextDecoder(detectEncoding(bytes)).decode(bytes), text, `${label}: ${text}`);
    }
});

t.test("languages of Latin letters are told from Cyrillic and from each other", async (t) => {
  const texts = {
    "windows-1252": [
      "Straße",
      "Müller",
      "GRÖSSE",
      "Zürich, Österreich",
      "à la carte",
      "Où est la bibliothèque ? Élève, forêt, garçon",
      "CHÂTEAU",
      "name;ort\nJosé;Málaga\n",
      "Älvsjö, Tromsø",
    ],
    "windows-1250": [
      "Łódź",
      "Gdańsk, Kraków, Wrocław",
      "ulica Świętokrzyska",
      "Příliš žluťoučký kůň",
      "Plzeň, Děčín",
    ],
    "iso-8859-2": ["ulica Świętokrzyska 5, województwo śląskie"],
  };
  for (const [label, all] of Object.entries(texts))
    for (const text of all) {
      const found = detectEncoding(encode(text, label)!);
      t.equal(new TextDecoder(found).decode(encode(text, label)), text, `${label}: ${text}`);
      t.equal(detectEncoding(encode(text, "utf-8")!), "utf-8", text);
    }
});

t.test("Unicode is known by its mark, and UTF-16 without one", async (t) => {
  for (const mark of ["\uFEFF", ""])
    for (const label of ["utf-8", "utf-16le", "utf-16be"]) {
      t.equal(detectEncoding(encode(`${mark}id;имя\r\n1;Москва\r\n2;Тверь\r\n`, label)!), label);
      t.equal(detectEncoding(encode(`${mark}id,name\n1,a\n`, label)!), label);
    }
  t.equal(detectEncoding(Buffer.from("only ASCII")), "utf-8");
  t.equal(detectEncoding(Buffer.alloc(0)), "utf-8");
});

t.test("UTF-8 with a fault stays UTF-8", async (t) => {
  const text = Buffer.from("Все счастливые семьи похожи друг на друга");
  t.equal(detectEncoding(text.subarray(0, text.length - 1)), "utf-8");
  t.equal(detectEncoding(Buffer.concat([text, Buffer.from([0xff, 0x20]), text])), "utf-8");
});

t.test("a text in pieces is what it is as a whole", async (t) => {
  for (const label of ["windows-1251", "utf-8"]) {
    const bytes = encode(`${"ascii;".repeat(100)}\n${"Улица Ленина;".repeat(50)}`, label)!;
    for (const size of [1, 2, 3, 7, 100]) {
      const detector = new EncodingDetector();
      for (let at = 0; at < bytes.length; at += size) detector.add(bytes.subarray(at, at + size));
      t.equal(detector.result(), label, `${label}, ${size}`);
    }
  }
});
