import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import sharp from "sharp";
import type { Page } from "../src/docs/pages.js";
import { bareEnvironment, checkout, program, start } from "./as-started/installation.js";
import { pagesToRun, rootOf, runSteps, stepsOf } from "./docs/page-run.support.js";
import { type Look, looks, pictureLine, readmeLook, readmePicture } from "./docs/pictures.support.js";
import { answerFromPackages, publicCdn } from "./docs/public-cdn.support.js";
import { launchBrowser, openPage, pictureComplete, until } from "./viewer/support.js";

/**
 * `node pictures.js [part of a name …]`: takes the pictures of README and of the documentation from a server that is started as
 * users start it. The examples of a page are run up to the picture, so that it shows what the page has made there.
 */

const wanted = process.argv.slice(2);
const isWanted = (name: string) => wanted.length === 0 || wanted.some((part) => name.includes(part));

/** Nothing is at stake but the time of whoever waits. */
const withinMs = 900_000;

/** A picture as it is kept: as good as its bytes allow. */
async function packed(png: Buffer, maxBytes: number): Promise<Buffer> {
  for (const quality of [92, 88, 84, 80, 75, 70]) {
    const small = await sharp(png).webp({ quality, effort: 6, smartSubsample: true }).toBuffer();
    if (small.length <= maxBytes) return small;
  }
  throw new Error(`It has more than ${maxBytes} bytes at its worst.`);
}

async function take(browser: Browser, address: string, look: Look): Promise<Buffer> {
  const { width, height, scale, maxBytes, act } = look;
  const options = { viewport: { width, height }, deviceScaleFactor: scale };
  const { page, problems } = await openPage(browser, "about:blank", { ...options, waitForMap: false });
  page.setDefaultTimeout(withinMs);
  await page.route(`https://${publicCdn}/**`, answerFromPackages);
  await page.goto(address);
  await pictureComplete(page, withinMs);
  await act?.(page);
  await pictureComplete(page, withinMs);
  await until(page, "document.querySelector('.toast') === null", withinMs);
  await page.waitForTimeout(500);
  const png = await page.screenshot();
  await page.context().close();
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return packed(png, maxBytes);
}

const base = await mkdtemp(join(tmpdir(), "mapwright-pictures-"));
const installation = join(base, "installation");
const home = join(base, "home");
await Promise.all([installation, home].map((folder) => mkdir(folder)));
const server = await start([process.execPath, program, "serve", "--local", "--port", "0"], {
  ...{ cwd: installation, env: bareEnvironment(home), withinMs },
});
const browser = await launchBrowser();
const { host } = new URL(server.url);
const environment = { ...bareEnvironment(home), MAPWRIGHT_DATA_DIR: join(installation, "data") };

async function save(name: string, look: Look, page?: Page): Promise<void> {
  const { at } = look;
  const address =
    "address" in at
      ? `http://${host}/#${at.address}`
      : pathToFileURL(join(base, rootOf(page!).path.replace("/", "-"), at.file)).href;
  const picture = await take(browser, address, look);
  const file = join(checkout, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, picture);
  console.log(`${name}  ${Math.ceil(picture.length / 1_000)} kB`);
}

/** Runs a page, and takes its pictures on the way. */
async function walk(page: Page): Promise<void> {
  const parts = page.markdown.split(pictureLine);
  for (const [at, part] of parts.entries()) {
    const look = looks.get(part);
    if (at % 2 === 1) {
      if (look && isWanted(part)) await save(`src/docs/pictures/${part}.webp`, look, page);
      continue;
    }
    const steps = stepsOf(part, host);
    const name = `${page.path.replace("/", "-")}-${at}`;
    const { status, last, errors } = await runSteps(page, steps, { base, name, environment });
    if (status !== 0)
      throw new Error(`${page.path}: ${steps[last]?.command}\n${await errors(last).catch(() => "")}`);
  }
}

try {
  if (isWanted("console")) {
    const [, password] = /Sign in to the project demo with.*\n\s*admin\s+(\S+)/.exec(server.told()) ?? [];
    if (password === undefined) throw new Error("The server has not told a password.");
    await save(readmePicture, readmeLook(password));
  }
  const shown = ({ markdown }: Page) =>
    markdown.split(pictureLine).some((name, at) => at % 2 === 1 && looks.has(name) && isWanted(name));
  for (const page of pagesToRun(shown)) await walk(page);
} finally {
  await browser.close();
  await server.stop();
  await rm(base, { recursive: true, force: true });
}
