import { parseAddress } from "./address.js";
import { DataLanguages, languageRead } from "./data-languages.js";
import { chooseLanguage } from "./language.js";
import type { ProjectInfo } from "./map-server.js";
import { layersQuery, mapsAddress, path, withQuery } from "./paths.js";
import { loadTexts } from "./texts.js";

/**
 * A small script that comes before the others: it asks for the texts in the user's language, the list of maps, and the layers of
 * the map that will be shown, so that on a slow line they are there when the viewer is. What it gets wrong, the viewer asks
 * for itself.
 */

const answers = new Map<string, Promise<Response>>();
const ask = (address: string): Promise<Response> => {
  const answer = fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
  answer.catch(() => undefined);
  answers.set(address, answer);
  return answer;
};
const askForLayers = (project: string, map: string, lng: string | undefined) =>
  ask(withQuery(`api/2.8/${path(project, map, "layers")}`, layersQuery(lng)));

/** Whether the user of a session would be answered otherwise. */
function hasSession(): boolean {
  try {
    return (sessionStorage.getItem("mapwright.sessions") ?? "[]") !== "[]";
  } catch {
    return false;
  }
}

const language = chooseLanguage();

async function askForFirst(): Promise<void> {
  const chosen = new DataLanguages();
  const { project, map, language: followed } = parseAddress(location.hash);
  if (project !== undefined && map !== undefined)
    void askForLayers(project, map, followed ?? chosen.of(project) ?? language);
  const list = await ask(mapsAddress({ lng: language }));
  if (project !== undefined || map !== undefined || !list.ok) return;
  const projects = (await list.clone().json()) as ProjectInfo[];
  const first = projects.find(({ maps }) => maps.length > 0);
  if (first)
    void askForLayers(
      first.code,
      first.maps[0]!.code,
      languageRead(first.languages, chosen.of(first.code), language),
    );
}

loadTexts(language).catch(() => undefined);
if (!hasSession()) {
  globalThis.earlyAnswers = answers;
  askForFirst().catch(() => undefined); // the viewer tells what fails
}
