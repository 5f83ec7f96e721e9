import type { Page } from "playwright-core";

/** The text of a style in the console, once its editor is there. */
export async function styleText(page: Page): Promise<string> {
  await page.waitForSelector(".cm-content");
  // The editor draws the lines that are seen; those of tests are.
  const lines = await page.locator(".cm-content .cm-line").allInnerTexts();
  return lines.map((line) => line.replace(/\n$/, "")).join("\n");
}

/** What is selected in it. */
export const selected = (page: Page): Promise<string> =>
  page.evaluate<string>("document.querySelector('.style-code').shadowRoot.getSelection().toString()");
