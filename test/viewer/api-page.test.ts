import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, soon, startBrowser } from "./support.js";

/** The page that shows the API's description. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);

t.test("the page lists the API's operations, from this server alone", async (t) => {
  for (const address of ["/docs/api/", "/docs/api"]) {
    const { page, requests, problems } = await openPage(browser, `${server.url}${address}`, {
      waitForMap: false,
    });
    await page.locator(".opblock").first().waitFor({ timeout: 60_000 });
    t.same(problems, []);
    await soon(t).same(
      () => requests.filter((url) => !url.startsWith(`${server.url}/`) && !url.startsWith("data:")),
      [],
    );
    await soon(t).ok(async () => (await page.locator(".opblock-tag-section").count()) >= 8, "by resources");
    await soon(t).ok(() =>
      page.getByText("/api/2.8/{project}/{map}/layers/{layer}/objects/", { exact: true }).count(),
    );
    await page.context().close();
  }
});

t.test("an operation can be tried out on the page", async (t) => {
  const { page, problems } = await openPage(browser, `${server.url}/docs/api/`, { waitForMap: false });
  // It lists all operations first, which takes a busy machine longer than other pages.
  page.setDefaultTimeout(60_000);
  const operation = page.locator("#operations-Objects-countObjects");
  await operation.locator(".opblock-summary").click();
  await operation.locator("tr[data-param-name=project] input").fill("p");
  await operation.locator("tr[data-param-name=map] input").fill("town");
  await operation.locator("tr[data-param-name=layer] input").fill("parks");
  await operation.locator(".execute").click();
  await operation.locator(".live-responses-table .response-col_status").first().waitFor();
  await soon(t).match(() => operation.locator(".live-responses-table").innerText(), /200[\s\S]*\n2\n/);
  t.same(problems, []);
  await page.context().close();
});

t.test("behind a path prefix the page finds its files and the API", async (t) => {
  const prefixed = await startServer({ config: { baseUrl: "/geo" } });
  t.teardown(() => prefixed.stop());
  const { page, requests, problems } = await openPage(browser, `${prefixed.url}/geo/docs/api/`, {
    waitForMap: false,
  });
  await page.locator(".opblock").first().waitFor({ timeout: 60_000 });
  t.same(problems, []);
  await soon(t).ok(() => requests.includes(`${prefixed.url}/geo/openapi.json`));
  await soon(t).match(() => page.locator(".servers").innerText(), `${prefixed.url}/geo`);
  await page.context().close();
});
