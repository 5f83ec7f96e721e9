import { openPage, pictureComplete, pixelOf, screen, soon, startBrowser } from "../../viewer/support.js";
import { login, password, project, type Step } from "../world.js";
import { onPhoto, photoColour } from "./rasters.js";

/** The page in Chromium. */

export const viewerSteps: readonly Step[] = [
  {
    name: "the viewer",
    also: true,
    walk: async (t, world) => {
      const browser = await startBrowser(t);
      const { lon, lat, z } = onPhoto;
      const address = `${world.url}/#project=${project}&map=rasters&z=${z}&lat=${lat}&lon=${lon}`;
      const { page, problems } = await openPage(browser, address);
      const { x, y } = await pixelOf(page, lat, lon);
      await soon(t).ok(async () => {
        const shown = (await screen(page)).at(x, y);
        return photoColour.every((value, at) => Math.abs(value - shown[at]!) <= 4);
      }, "the raster is shown");
      await page.click(".sign-in-button");
      await page.fill("#sign-in-login", login);
      await page.fill("#sign-in-password", password);
      await page.keyboard.press("Enter");
      await soon(t).ok(() => page.isVisible(`.user-button:has-text('${login}')`), "signed in");
      await pictureComplete(page);
      const css_style = `#trees { marker-fill: #cccccc; [species = "Oak"] { marker-fill: #007700; } }`;
      await world.api("PATCH", "trees/layers/trees/", { body: { parent_id: 0, css_style } });
      const trees = await openPage(
        browser,
        `${world.url}/#project=${project}&map=trees&z=14&lat=52.514&lon=13.377`,
      );
      await soon(t).same(
        async () => (await trees.page.locator(".legend-class:not([hidden])").allInnerTexts()).slice(0, 2),
        ["others", "species = Oak"],
        "legends are shown",
      );
      await world.api("PATCH", "trees/", { body: { group_layers: 1, name: "Park" } });
      const grouped = await openPage(browser, `${world.url}/#project=${project}&map=trees`);
      t.same(await grouped.page.locator(".tree-row label").allTextContents(), ["Park"], "layers are one");
      await world.api("PATCH", "trees/", { body: { group_layers: 0, name: "" } });
      t.same([...problems, ...trees.problems, ...grouped.problems], []);
    },
  },
];
