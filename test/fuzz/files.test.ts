import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { safeFont } from "../../workers/image/font/safe-font.js";
import { FontRefusal } from "../../workers/image/font/sfnt.js";
import { sanitizeSvg } from "../../workers/image/svg/sanitize.js";
import { SvgRefusal } from "../../workers/image/svg/tree.js";
import { valueEnd } from "../../workers/transfer/json.js";
import { Refusal } from "../../workers/transfer/refusal.js";
import { JsonWindow } from "../../workers/transfer/window.js";
import { blockFont, dejaVu } from "../support/fonts.js";
import { answerOf, damaged, holds, textsOf } from "./fuzz.support.js";

/** Readers of files that are ours. */

const folder = mkdtempSync(join(tmpdir(), "mapwright-fuzz-"));
t.teardown(() => rmSync(folder, { recursive: true }));

t.test("the window over JSON finds each value where it ends", async (t) => {
  const space = fc.constantFrom("", " ", "\n", "\r\n\t");
  const values = fc.array(fc.tuple(space, fc.json({ maxDepth: 4 })), { minLength: 1, maxLength: 6 });
  await holds(
    t,
    values,
    (parts) => {
      const path = join(folder, "values.json");
      writeFileSync(path, parts.map(([before, text]) => `${before}${text}`).join("\n"));
      const file = openSync(path, "r");
      try {
        const window = new JsonWindow(file);
        for (const [, text] of parts) {
          const { bytes, start, end } = window.value();
          const found = bytes.toString("utf8", start, end);
          if (found !== text.trim()) throw new Error(`${found} instead of ${text}`);
        }
        if (window.peek() !== -1) throw new Error("more than there is");
      } finally {
        closeSync(file);
      }
    },
    { share: 0.5 },
  );
  const tokens = ["{", "}", "[", "]", '"', "\\", '\\"', ",", ":", "1", "null", " "];
  await holds(t, textsOf(tokens), (text) => {
    const bytes = Buffer.from(text);
    if (bytes.length === 0) return;
    const end = answerOf(() => valueEnd(bytes, 0, bytes.length), Refusal);
    if (end !== undefined && end !== -1 && !(end >= 0 && end <= bytes.length)) throw new Error(`${end}`);
  });
});

t.test("what is left of an SVG is harmless", async (t) => {
  const tokens = [
    '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8">',
    "</svg>",
    "<g>",
    "</g>",
    '<path d="M0 0L8 8z"/>',
    '<rect width="8" height="8" fill="url(#a)"/>',
    "<script>alert(1)</script>",
    '<image href="file:///etc/passwd"/>',
    '<use href="#a"/>',
    '<use xlink:href="http://x/y#z"/>',
    ' onload="x()"',
    "<style>*{fill:url(http://x)}</style>",
    '<!DOCTYPE svg [<!ENTITY a "b">]>',
    "&a;",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    '<g id="a" transform="scale(9e9)">',
    "<foreignObject>",
    '<linearGradient id="a"><stop offset="0" stop-color="red"/></linearGradient>',
    "<a",
    ">",
    "=",
    '"',
  ];
  await holds(
    t,
    textsOf(tokens, 20).map(
      (text) => `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8">${text}</svg>`,
    ),
    (text) => {
      const safe = answerOf(() => sanitizeSvg(text), SvgRefusal);
      if (
        safe &&
        /<script|<image|<foreign|<!|\son\w+=|file:|https?:\/\/(?!www\.w3\.org\/)|javascript:/i.test(safe.text)
      )
        throw new Error(safe.text);
    },
  );
});

t.test("a damaged font is refused or written anew", async (t) => {
  const originals = [dejaVu("DejaVuSansMono.ttf"), blockFont({ family: "Block" })];
  await holds(t, damaged(originals), (bytes) => void answerOf(() => safeFont(bytes), FontRefusal), {
    share: 0.05,
  });
});
