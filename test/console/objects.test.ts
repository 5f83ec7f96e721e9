import type { Locator, Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser, until } from "../viewer/support.js";
import { accessible, area, signIn } from "./support.js";

/** Objects are made, changed, deleted and brought back in the console, by pointers and by keys, and nothing is lost by it. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const api = (method: string, path: string, body?: unknown) => server.api(method, path, { token, body });

type Fields = Readonly<Record<string, unknown>>;
interface Found {
  readonly id: number;
  readonly fields: Fields;
  readonly geom: { readonly type: string; readonly coordinates: never } | null;
}

/** Makes a map with one layer of such columns and objects. */
async function made(
  map: string,
  columns: readonly object[],
  objects: readonly { readonly fields: Fields; readonly geom: object | null }[],
  css?: string,
): Promise<void> {
  await api("POST", "", { code: map });
  await api("POST", `${map}/layers/`, { code: "sites", name: "Sites", ...(css && { css_style: css }) });
  for (const column of columns) await api("POST", `${map}/layers/sites/structure/`, column);
  for (const object of objects) await api("POST", `${map}/layers/sites/objects/`, object);
}
const objects = async (map: string): Promise<readonly Found[]> =>
  (await api("GET", `${map}/layers/sites/objects/?fields=*&returnGeom=1`)).json;
const object = async (map: string, id: number): Promise<Found> =>
  (await api("GET", `${map}/layers/sites/objects/${id}/?returnGeom=1`)).json;
const titles = async (map: string) => (await objects(map)).map(({ fields }) => fields.title).sort();

/** Opens the objects of the layer. */
async function opened(map: string, options: Parameters<typeof openPage>[2] = {}) {
  const { page, problems } = await openPage(browser, `${server.url}/console/#project=p&map=${map}`, {
    waitForMap: false,
    ...options,
  });
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  await openTable(page);
  return { page, problems };
}
async function openTable(page: Page): Promise<void> {
  await page.hover(".tree-row");
  await page.click(".tree-row [aria-haspopup], .tree-row .tree-menu");
  await page.click(".popup-menu button:has-text('Objects')");
  await page.waitForSelector(".bottom-panel .object-tools .button:enabled");
}
const row = (page: Page, text: string) => page.locator(`.table-rows .table-row:has-text("${text}")`);
const field = (page: Page, code: string) => page.locator(`#object-field-${code}`);
/** Where it is when the map does not glide any more. */
async function restingBox(one: Locator): Promise<Awaited<ReturnType<Locator["boundingBox"]>>> {
  for (let before = await one.boundingBox(); ; ) {
    await one.page().waitForTimeout(400);
    await until(one.page(), "!document.querySelector('.leaflet-pan-anim, .leaflet-zoom-anim')");
    const now = await one.boundingBox();
    if (before && now && before.x === now.x && before.y === now.y) return now;
    before = now;
  }
}
/** The middle of a handle, once the map has come to rest. */
async function middleOf(handle: Locator): Promise<{ x: number; y: number }> {
  const { x, y, width, height } = (await restingBox(handle))!;
  return { x: x + width / 2, y: y + height / 2 };
}
/** Where the second vertex of an object is in the page, whose form is open for that and closed again. */
async function cornerOf(page: Page, name: string): Promise<{ x: number; y: number }> {
  await row(page, name).click();
  await page.click("button:has-text('Reshape')");
  const corner = await middleOf(page.locator(".shape-handle.vertex").nth(1));
  await page.locator(".draw-bar .button:has-text('Cancel')").click();
  await page.keyboard.press("Escape");
  await page.waitForSelector(".object-editor", { state: "hidden" });
  return corner;
}
/** Moves to and fro beside a neighbour's vertex until its mark is seen: neighbours are read a moment after a shape is begun. */
async function untilSnapped(page: Page, move: (away: number) => Promise<unknown>): Promise<void> {
  const end = Date.now() + 60_000;
  for (let away = 5; (await page.locator(".shape-snap").count()) === 0; away = 11 - away) {
    if (Date.now() > end) throw new Error("nothing is snapped to");
    await move(away);
    await page.waitForTimeout(50);
  }
}
/** The names of handles over which something else lies. */
const covered = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll(".shape-handle")].filter((handle) => {
    const { x, y, width, height } = handle.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2) !== handle;
  }).map(({ title }) => title)`);
/** The vertices of an object's outer border. */
async function ringOf(map: string, name: string): Promise<readonly (readonly [number, number])[]> {
  const found = (await objects(map)).find(({ fields }) => fields.title === name)!;
  const [border] = (await object(map, found.id)).geom!.coordinates as unknown as [[number, number][]];
  return border;
}
const save = (page: Page) => page.click(".object-editor .button.main");
const title = { code: "title", type: "string", required: true };

t.test("a row opens its object, and a changed value is saved, undone and done again", async (t) => {
  await made(
    "values",
    [
      title,
      { code: "height", type: "number" },
      { code: "open", type: "bool" },
      { code: "built", type: "datetime" },
      { code: "label", type: "string", localized_value: true },
    ],
    [
      {
        fields: { title: "Tower", height: 12.5, built: "1999-05-01T00:00:00Z", label: { en: "T", ru: "Т" } },
        geom: area(8),
      },
      { fields: { title: "Hall" }, geom: area(14) },
    ],
  );
  const { page, problems } = await opened("values");
  await row(page, "Tower").click();
  await page.waitForSelector(".object-editor h2:text-is('Tower')");
  t.equal(await field(page, "height").inputValue(), "12.5");
  t.equal(await field(page, "built").inputValue(), "1999-05-01");
  t.equal(await field(page, "label-ru").inputValue(), "Т");
  t.ok(await page.locator(".mark").count(), "it is shown on the map");
  await accessible(t, page, "the form and the table");

  await field(page, "title").fill("");
  await save(page);
  await page.waitForSelector("[data-code='title'] .field-problem:visible");
  t.equal(await field(page, "title").getAttribute("aria-invalid"), "true", "the server says where");
  await field(page, "title").fill("High tower");
  await field(page, "height").fill("not high");
  await page.waitForSelector("[data-code='height'] .field-problem:visible");
  await field(page, "height").fill("14,5");
  await field(page, "open").selectOption({ label: "Yes" });
  await field(page, "built").fill("2001-02-03");
  await field(page, "label-en").fill("High");
  await save(page);
  await page.waitForSelector(".toast:has-text('Saved.')");
  const label = async (lng: string) =>
    (await api("GET", `values/layers/sites/objects/1/?lng=${lng}`)).json.fields.label;
  t.match((await object("values", 1)).fields, {
    title: "High tower",
    height: 14.5,
    open: true,
    built: "2001-02-03T00:00:00Z",
  });
  t.same([await label("en"), await label("ru")], ["High", "Т"]);
  await soon(t).equal(() => row(page, "High tower").count(), 1);

  await page.click("[aria-label='Undo']");
  await soon(t).equal(async () => (await object("values", 1)).fields.title, "Tower");
  await soon(t).equal(() => field(page, "title").inputValue(), "Tower");
  await page.click("[aria-label='Redo']");
  await soon(t).equal(async () => (await object("values", 1)).fields.title, "High tower");
  t.same([await label("en"), await label("ru")], ["High", "Т"]);
  // That of the refused value is told by the browser, too.
  const others = problems.filter((problem) => !problem.includes("status of 500"));
  t.same(others, [], "no errors, and none of the content policy");
  await page.context().close();
});

t.test("what two have changed is put together, and the same value is asked for once", async (t) => {
  await made(
    "both",
    [title, { code: "note", type: "text" }],
    [{ fields: { title: "One", note: "old" }, geom: null }],
  );
  const { page } = await opened("both");
  await row(page, "One").click();
  await page.waitForSelector(".object-editor h2:text-is('One')");
  await field(page, "title").fill("Mine");
  await api("PUT", "both/layers/sites/objects/1/", { fields: { note: "theirs" } });
  await save(page);
  await page.waitForSelector(".toast:has-text('Saved.')");
  t.match((await object("both", 1)).fields, { title: "Mine", note: "theirs" });
  await soon(t).equal(() => field(page, "note").inputValue(), "theirs");

  await field(page, "note").fill("my note");
  await field(page, "title").fill("Mine again");
  await api("PUT", "both/layers/sites/objects/1/", { fields: { note: "their note" } });
  await save(page);
  await page.waitForSelector(".conflict");
  t.same(await page.locator(".conflict tbody td").allTextContents(), ["my note", "their note"]);
  await accessible(t, page, "two changes side by side");
  await page.keyboard.press("Escape");
  t.equal((await object("both", 1)).fields.note, "their note", "nothing is saved before it is decided");
  await save(page);
  await page.click("button:has-text('Take theirs')");
  await soon(t).equal(async () => (await object("both", 1)).fields.title, "Mine again");
  t.equal((await object("both", 1)).fields.note, "their note");

  await field(page, "note").fill("mine at last");
  await api("DELETE", "both/layers/sites/objects/1/");
  await save(page);
  await page.click("button:has-text('Save as new')");
  await soon(t).same(
    async () => [(await objects("both"))[0]?.fields.note, (await objects("both"))[0]?.fields.title],
    ["mine at last", "Mine again"],
  );
  await page.context().close();
});

t.test(
  "handles are in sight, though a shape is begun while the map is on its way to its object",
  async (t) => {
    await made("quick", [title], [{ fields: { title: "Field" }, geom: area(8) }]);
    const { page } = await opened("quick");
    await page.waitForSelector(".leaflet-tile-loaded");
    await row(page, "Field").waitFor();
    // By the page itself, within the quarter of a second that the way takes.
    await page.evaluate(`new Promise((resolve) => {
    document.querySelector(".table-rows .table-row").click();
    const press = () => {
      const isShown = ({ textContent, offsetWidth }) => textContent === "Reshape" && offsetWidth > 0;
      const reshape = document.querySelector(".leaflet-zoom-anim") && [...document.querySelectorAll("button")].find(isShown);
      reshape?.click();
      if (reshape) resolve();
      else requestAnimationFrame(press);
    };
    press();
  })`);
    await restingBox(page.locator(".shape-handle.vertex").first());
    t.same(await covered(page), []);
    await page.context().close();
  },
);

t.test("a vertex is moved, added and taken away on the map, and all of it undone", async (t) => {
  await made("shapes", [title], [{ fields: { title: "Field" }, geom: area(8) }]);
  const { page } = await opened("shapes");
  await page.waitForSelector(".leaflet-tile-loaded");
  await row(page, "Field").click();
  await page.click("button:has-text('Reshape')");
  await page.waitForSelector(".shape-handle.vertex");
  t.equal(await page.locator(".shape-handle.vertex").count(), 4);
  await accessible(t, page, "a shape with its handles");
  const before = (await object("shapes", 1)).geom!.coordinates as unknown as [[number, number][]];
  const handle = await restingBox(page.locator(".shape-handle.vertex").nth(2));
  t.same(await covered(page), [], "all handles can be pressed");
  await page.mouse.move(handle!.x + 16, handle!.y + 16);
  await page.mouse.down();
  await page.mouse.move(handle!.x + 46, handle!.y + 36, { steps: 4 });
  await page.mouse.up();
  await page.locator(".draw-bar .main").click();
  await save(page);
  await page.waitForSelector(".toast:has-text('Saved.')");
  const ring = async () =>
    ((await object("shapes", 1)).geom!.coordinates as unknown as [[number, number][]])[0];
  const moved = await ring();
  t.equal(moved.length, 5);
  t.ok(moved[2]![0] > before[0][2]![0] && moved[2]![1] < before[0][2]![1], "it went right and down");
  t.same(moved[0], before[0][0], "the others stay");

  await page.click("[aria-label='Undo']");
  await soon(t).same(ring, before[0]);
  await page.click("[aria-label='Redo']");
  await soon(t).same(ring, moved);

  // By keys: the second vertex goes, the first one gets a neighbour, and moves.
  await page.click("button:has-text('Reshape')");
  await page.waitForSelector(".shape-handle.vertex");
  await page.locator(".shape-handle.vertex").nth(1).focus();
  await page.keyboard.press("Delete");
  await soon(t).equal(() => page.locator(".shape-handle.vertex").count(), 3);
  await page.keyboard.press("Insert");
  await soon(t).equal(() => page.locator(".shape-handle.vertex").count(), 4);
  await page.keyboard.press("Shift+ArrowUp");
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+z");
  await soon(t).equal(() => page.locator(".shape-handle.vertex").count(), 3);
  await page.locator(".shape-handle.vertex").first().focus();
  await page.keyboard.press("Escape");
  await soon(t).equal(() => page.locator(".shape-handle").count(), 0);
  t.equal(await page.locator(".object-editor .unsaved").isVisible(), false, "Escape takes all steps back");
  await page.context().close();
});

t.test(
  "what is drawn and reshaped meets its neighbours, and with Alt lies where it is pressed",
  async (t) => {
    // With more digits than what is pressed has.
    const [east, south] = [8.123456789012, 0.987654321098];
    const ring = [
      [0, 1],
      [east, south],
      [east, 9],
      [0, 9],
      [0, 1],
    ];
    await made(
      "meeting",
      [title],
      [{ fields: { title: "First" }, geom: { type: "Polygon", coordinates: [ring] } }],
    );
    const { page } = await opened("meeting");
    const { x, y } = await cornerOf(page, "First");
    const marks = () => page.locator(".shape-snap").count();
    const draw = async (name: string, isFree: boolean) => {
      await page.click("[data-kind='Polygon']");
      await page.waitForSelector(".map.drawing");
      await untilSnapped(page, (away) => page.mouse.move(x + away, y + 4));
      await soon(t).equal(
        () => page.locator(".draw-bar [role=status]").textContent(),
        "Snaps; with Alt not.",
      );
      if (isFree) await page.keyboard.down("Alt");
      for (const [dx, dy] of [
        [5, 5],
        [-70, -30],
        [-30, -70],
      ] as const) {
        await page.mouse.move(x + dx, y + dy, { steps: 2 });
        await soon(t).equal(marks, dx === 5 && !isFree ? 1 : 0);
        await page.mouse.click(x + dx, y + dy);
      }
      if (isFree) await page.keyboard.up("Alt");
      await page.locator(".draw-bar .main").click();
      await field(page, "title").fill(name);
      await page.keyboard.press("Enter");
      await page.waitForSelector(".toast:has-text('Saved.')");
      await soon(t).equal(async () => (await titles("meeting")).includes(name), true);
      await page.keyboard.press("Escape");
      await page.waitForSelector(".object-editor", { state: "hidden" });
    };
    await draw("Drawn to it", false);
    const met = (await ringOf("meeting", "First"))[1]!;
    t.ok(String(met[0]).length > "8.1234567".length, "all digits that the server tells");
    t.same((await ringOf("meeting", "Drawn to it"))[0], met);
    await draw("Beside it", true);
    t.notSame((await ringOf("meeting", "Beside it"))[0], met);
    await page.context().close();
  },
);

t.test("a finger that drags a vertex to a neighbour's lays it there", async (t) => {
  const west = 12.123456789012;
  const neighbour = [
    [west, 50],
    [west + 3, 50],
    [west + 3, 53],
    [west, 53],
    [west, 50],
  ];
  await made(
    "fingers",
    [title],
    [
      { fields: { title: "First" }, geom: area(6) },
      { fields: { title: "Second" }, geom: { type: "Polygon", coordinates: [neighbour] } },
    ],
  );
  const { page } = await opened("fingers", { hasTouch: true });
  await row(page, "First").click();
  const answer = page.waitForResponse(/fbbox=/);
  await page.click("button:has-text('Reshape')");
  await answer;
  const touch = await page.context().newCDPSession(page);
  const send = (type: "touchStart" | "touchMove" | "touchEnd", ...touchPoints: { x: number; y: number }[]) =>
    touch.send("Input.dispatchTouchEvent", { type, touchPoints });
  const from = await middleOf(page.locator(".shape-handle.vertex").first());
  const dragged = await middleOf(page.locator(".shape-handle.vertex").nth(1));
  const goal = { x: dragged.x + ((west - 10) * (dragged.x - from.x)) / 4, y: dragged.y };
  await send("touchStart", dragged);
  await untilSnapped(page, (away) => send("touchMove", { x: goal.x + away, y: goal.y + 6 }));
  await send("touchEnd");
  await page.locator(".draw-bar .main").click();
  await save(page);
  await page.waitForSelector(".toast:has-text('Saved.')");
  t.same((await ringOf("fingers", "First"))[1], (await ringOf("fingers", "Second"))[0]);
  await page.context().close();
});

t.test("objects are drawn, by a pointer and by keys alone", async (t) => {
  await made("drawn", [title], [{ fields: { title: "First" }, geom: area(8) }]);
  const { page } = await opened("drawn");
  await page.click("[data-kind='Polygon']");
  await page.waitForSelector(".map.drawing");
  for (const [x, y] of [
    [500, 270],
    [620, 270],
    [560, 370],
    [500, 270],
  ] as const)
    await page.mouse.click(x, y);
  await page.waitForSelector(".object-geometry-text:has-text('3 vertices')");
  await field(page, "title").fill("Second");
  await page.keyboard.press("Enter");
  await soon(t).same(() => titles("drawn"), ["First", "Second"]);
  t.equal((await objects("drawn"))[1]?.geom?.type, "Polygon");
  // Before the page knows of it nothing else is made.
  await page.waitForSelector(".toast:has-text('Saved.')");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".object-editor", { state: "hidden" });

  await page.focus("[data-kind='LineString']");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".map.drawing");
  await page.keyboard.press("Space");
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector(".map.by-keys");
  // The map glides to its new middle: 80 pixels from the first vertex.
  const middleOf = (selector: string) =>
    `(({ left, right }) => (left + right) / 2)(document.querySelector("${selector}").getBoundingClientRect())`;
  await until(page, `Math.abs(${middleOf(".map.drawing")} - ${middleOf(".shape-dot")}) > 70`);
  await page.keyboard.press("Space");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".object-geometry-text:has-text('2 vertices')");
  await page.keyboard.type("Third");
  await page.keyboard.press("Control+s");
  await soon(t).same(() => titles("drawn"), ["First", "Second", "Third"]);
  await page.waitForSelector("[aria-label='Undo']:enabled");
  await page.keyboard.press("Escape");
  await page.focus(".table-scroll");
  await page.keyboard.press("Control+z");
  await soon(t).same(() => titles("drawn"), ["First", "Second"]);
  await soon(t).equal(() => row(page, "Third").count(), 0);
  await page.focus(".table-scroll");
  await page.keyboard.press("Control+Shift+Z");
  await soon(t).same(() => titles("drawn"), ["First", "Second", "Third"]);
  await page.click("[data-kind='Point']");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".object-editor", { state: "hidden" });
  t.same(await titles("drawn"), ["First", "Second", "Third"], "Escape makes nothing");
  await page.context().close();
});

t.test("several are deleted after one question, and come back", async (t) => {
  const names = ["A", "B", "C", "D"];
  await made(
    "many",
    [title],
    names.map((name) => ({ fields: { title: name }, geom: null })),
  );
  const { page } = await opened("many");
  await row(page, "A").locator(".mark-cell").click();
  await row(page, "C")
    .locator("input")
    .click({ modifiers: ["Shift"] });
  await page.click("button:has-text('Delete 3')");
  await page.waitForSelector("text=Delete 3 objects?");
  await page.click(".tool-dialog .danger");
  await soon(t).same(() => titles("many"), ["D"]);
  await soon(t).equal(() => page.locator(".table-rows .table-row").count(), 1);
  await page.click(".toast button:has-text('Undo')");
  await soon(t).same(() => titles("many"), names);
  await soon(t).equal(() => page.locator(".table-rows .table-row").count(), 4);
  await page.focus(".table-scroll");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  t.equal(await row(page, "B").locator("input").isChecked(), true);
  await page.context().close();
});

t.test("what is not saved outlives the page and the session", async (t) => {
  await made("kept", [title], [{ fields: { title: "One" }, geom: null }]);
  const { page } = await opened("kept");
  await row(page, "One").click();
  await field(page, "title").fill("Changed");
  await page.reload();
  await page.waitForSelector(".tree-choose");
  await openTable(page);
  await page.click("button:has-text('1 not saved yet')");
  t.equal(await field(page, "title").inputValue(), "Changed");
  const stored = await page.evaluate<string>("sessionStorage.getItem('mapwright.sessions')");
  const [[, session]] = JSON.parse(stored) as [[string, { token: string }]];
  await server.api("POST", "logout/", { token: session.token, body: {} });
  await save(page);
  await page.waitForSelector("text=Your session has ended");
  await page.fill("#sign-in-password", "adminadmin");
  await page.keyboard.press("Enter");
  await soon(t).same(() => titles("kept"), ["Changed"]);
  // Before the page knows that it is saved it would keep it.
  await page.waitForSelector(".toast:has-text('Saved.')");
  await page.reload();
  await page.waitForSelector(".tree-choose");
  await openTable(page);
  t.equal(await page.locator("button:has-text('not saved yet')").isVisible(), false);
  await page.context().close();
});

t.test("files are attached and taken away", async (t) => {
  await made("files", [title, { code: "photos", type: "file" }], [{ fields: { title: "One" }, geom: null }]);
  const { page } = await opened("files");
  await row(page, "One").click();
  const buffer = Buffer.from("some text");
  // Files are taken once it is known whose they are.
  await page.waitForSelector("[data-code='photos'] .button.small");
  await page.setInputFiles("[data-code='photos'] input[type=file]", {
    name: "plan.txt",
    mimeType: "text/plain",
    buffer,
  });
  await page.waitForSelector(".object-file:has-text('plan.txt')");
  t.equal((await api("GET", "files/layers/sites/objects/1/files/")).json.length, 1);
  await field(page, "title").fill("Two");
  await page.click("[aria-label='Delete the file plan.txt']");
  await soon(t).equal(() => page.locator(".object-file").count(), 0);
  t.equal(await field(page, "title").inputValue(), "Two", "what is written meanwhile stays");
  await save(page);
  await soon(t).same(() => titles("files"), ["Two"]);
  await page.context().close();
});

t.test("on a phone objects are found, changed and reshaped", async (t) => {
  await made("phone", [title], [{ fields: { title: "Field" }, geom: area(8) }]);
  const { page } = await openPage(browser, `${server.url}/console/#project=p&map=phone`, {
    waitForMap: false,
    viewport: { width: 390, height: 844 },
    hasTouch: true,
  });
  await signIn(page, "admin");
  await page.waitForSelector(".layers");
  if ((await page.locator(".tree-row .tree-menu, .tree-row [aria-haspopup]").first().isVisible()) === false)
    await page.click(".layers [aria-expanded='false']");
  await openTable(page);
  await accessible(t, page, "the table on a phone");
  await row(page, "Field").tap();
  await page.waitForSelector(".object-editor h2:text-is('Field')");
  await accessible(t, page, "the form on a phone");
  await page.click("button:has-text('Reshape')");
  await page.waitForSelector(".shape-handle.vertex");
  t.equal(await page.locator(".object-editor").isVisible(), false, "the map has the room");
  await page.click(".draw-bar button:has-text('Cancel')");
  await field(page, "title").fill("Meadow");
  await save(page);
  await soon(t).same(() => titles("phone"), ["Meadow"]);
  await page.context().close();
});
