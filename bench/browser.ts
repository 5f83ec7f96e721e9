import { type Browser, chromium } from "playwright-core";

/** Debian's Chromium, which makes no connections of its own. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
