import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import type { Test } from "tap";

/** What tests of the console do in the page. */

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Asserts that axe finds nothing to complain about in the page as it is. @param part its selector; default: all of the page */
export async function accessible(t: Test, page: Page, what: string, part?: string): Promise<void> {
  await page.evaluate(axe);
  const found = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `axe.run(${part === undefined ? "document" : JSON.stringify(part)}, { resultTypes: ['violations'] })`,
  );
  t.same(
    found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`),
    [],
    `axe: ${what}`,
  );
}

/** Signs in where the page asks for it. */
export async function signIn(page: Page, login: string): Promise<void> {
  await page.waitForSelector("#sign-in-password");
  await page.fill("#sign-in-login", login);
  await page.fill("#sign-in-password", `${login}${login}`);
  await page.keyboard.press("Enter");
}

export interface Dropped {
  readonly name: string;
  readonly text: string | Buffer;
}

/** Drops files on the page, as from a folder of the machine: they are over it first. */
export async function drop(page: Page, ...files: readonly Dropped[]): Promise<void> {
  const sent = files.map(({ name, text }) => ({
    name,
    bytes: Buffer.from(text as string).toString("base64"),
  }));
  await page.evaluate(`(() => {
    const data = new DataTransfer();
    const bytesOf = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    for (const { name, bytes } of ${JSON.stringify(sent)}) data.items.add(new File([bytesOf(bytes)], name));
    for (const type of ["dragenter", "dragover", "drop"])
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  })()`);
}

/** Some areas with names, as GeoJSON. */
export const areas = (...names: readonly string[]): string =>
  JSON.stringify({
    type: "FeatureCollection",
    features: names.map((name, at) => ({
      type: "Feature",
      properties: { name, number: at },
      geometry: {
        type: "Polygon",
        coordinates: [[...corners(10 + 2 * at)]],
      },
    })),
  });
const corners = (x: number): readonly (readonly [number, number])[] => [
  [x, 50],
  [x + 1, 50],
  [x + 1, 51],
  [x, 51],
  [x, 50],
];

/** An area, three degrees high. @param x its western edge */
export const area = (x: number) => ({
  type: "Polygon",
  coordinates: [
    [
      [x, 50],
      [x + 4, 50],
      [x + 4, 53],
      [x, 53],
      [x, 50],
    ],
  ],
});
