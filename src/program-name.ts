import { basename } from "node:path";

/**
 * What users type to run the program: `mapwright` where it was installed and started so, and `npx mapwright` in a checkout,
 * where npm finds it below `node_modules` and `npm start` runs its file.
 * @param started path of the script that the process was started with
 */
export function programName(started = process.argv[1] ?? ""): string {
  const isInstalled = basename(started) === "mapwright" && !started.includes("/node_modules/.bin/");
  return isInstalled ? "mapwright" : "npx mapwright";
}
