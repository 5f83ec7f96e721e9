import t from "tap";
import { makeLayers } from "../support/layers.js";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { accessible, signIn } from "./support.js";

/** A map of many layers: its rows are made when they are seen. */

const count = 400;
const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
await makeLayers(server.sql, await makeMap(server, "long"), count);

t.test("a long tree is worked on as a short one", async (t) => {
  const { page, problems } = await openPage(browser, `${server.url}/console/#project=p&map=long`, {
    waitForMap: false,
  });
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  const rows = () => page.locator(".tree-choose").count();
  t.equal(await page.locator(".tree-row").count(), count, "all have their place");
  await soon(t).ok(async () => (await rows()) > 20);
  t.ok((await rows()) < count / 2, `${await rows()} are made`);
  await accessible(t, page, "a long tree", ".tree");

  const last = page.locator(".tree-row").last();
  await last.scrollIntoViewIfNeeded();
  await last.locator(".tree-choose").click();
  await page.waitForSelector(".style-panel:not([hidden])");
  t.equal(await page.textContent(".style-panel h2"), `l${count}`);
  await page.keyboard.press("Escape");
  await soon(t).equal(() => page.evaluate("document.activeElement.textContent"), `l${count}`);
  await page.keyboard.press("F2");
  await page.keyboard.type("The last one");
  await page.keyboard.press("Enter");
  await soon(t).equal(
    () => page.evaluate("document.activeElement.textContent"),
    "The last one",
    "its row has the focus when the tree is made anew",
  );

  // Shift and Tab reach what lies above, however far.
  for (let presses = 0; presses < 150; presses++) await page.keyboard.press("Shift+Tab");
  const reached = await page.evaluate<string>("document.activeElement.closest('.tree-row').textContent");
  t.ok(Number(/l(\d+)/.exec(reached)?.[1]) < count - 30, reached);

  // What is selected need not have been made.
  const first = page.locator(".tree-row").first();
  await first.scrollIntoViewIfNeeded();
  await first.locator(".tree-choose").click({ modifiers: ["Control"] });
  await last.scrollIntoViewIfNeeded();
  await last.locator(".tree-choose").click({ modifiers: ["Shift"] });
  t.equal(await page.textContent(".selection-bar [role=status]"), `${count} selected`);
  t.ok((await rows()) < count - 50, `${await rows()} are made`);
  await page
    .locator(".tree-row")
    .nth(count / 2)
    .scrollIntoViewIfNeeded();
  const middle = page.locator(".tree-row").nth(count / 2);
  await middle.locator(".tree-choose").waitFor();
  t.match(await middle.getAttribute("class"), /selected/, "it is seen when its row is made");
  await middle.locator("input").uncheck();
  await soon(t).equal(() => page.textContent(".layers-header .pill"), `0 of ${count} on`);
  t.same(problems, []);
  await page.context().close();
});
