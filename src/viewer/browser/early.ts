import { type Address, parseAddress } from "./address.js";
import { DataLanguages, languageRead } from "./data-languages.js";
import { showFirstPicture } from "./first-picture.js";
import { boxOfView, isWorld, phonePages, worldView } from "./first-view.js";
import { hasInvitation } from "./invitation.js";
import { chooseLanguage } from "./language.js";
import { LayerTree, type TreeElement } from "./layer-tree.js";
import type { MapId, MapInfo, ProjectInfo } from "./map-server.js";
import { layersQuery, mapsAddress, path, withQuery } from "./paths.js";
import { loadTexts } from "./texts.js";
import { tileSource } from "./tile-source.js";

/**
 * A small script that comes before the others: it asks for the texts in the user's language, the list of maps, and the layers of
 * the map that will be shown, and shows its first tiles, so that on a slow line they are there before the viewer is. What it
 * gets wrong, the viewer asks for itself.
 */

const answers = new Map<string, Promise<Response>>();
const ask = (address: string): Promise<Response> => {
  const answer = fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
  answer.catch(() => undefined);
  answers.set(address, answer);
  return answer;
};
const askForLayers = ({ project, map }: MapId, lng: string | undefined) =>
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

/** The body of an answer, which the viewer reads too. */
async function bodyOf<T>(answer: Promise<Response>): Promise<T | undefined> {
  const found = await answer;
  return found.ok ? ((await found.clone().json()) as T) : undefined;
}

async function askForFirst(): Promise<void> {
  const chosen = new DataLanguages();
  const address = parseAddress(location.hash);
  const { project, map } = address;
  if (project !== undefined) chosen.follow(project, address.language);
  const asked = (project !== undefined && chosen.of(project)) || language;
  const list = bodyOf<ProjectInfo[]>(ask(mapsAddress({ lng: asked, project })));
  const layersOf = (id: MapId, lng: string | undefined) => bodyOf<TreeElement[]>(askForLayers(id, lng));
  if (project !== undefined && map !== undefined) {
    const mapId = { project, map };
    const elements = layersOf(mapId, chosen.of(project) ?? language);
    const listed = (await list)?.find(({ code }) => code === project);
    const lng = listed ? languageRead(listed.languages, chosen.of(project), language) : chosen.of(project);
    const info = listed?.maps.find(({ code }) => code === map);
    showFirst(mapId, await elements, { address, lng, info });
  } else if (map === undefined) {
    const first = (await list)?.find(
      ({ code, maps }) => maps.length > 0 && (project === undefined || project === code),
    );
    if (!first) return;
    const mapId = { project: first.code, map: first.maps[0]!.code };
    const lng = languageRead(first.languages, chosen.of(first.code), language);
    showFirst(mapId, await layersOf(mapId, lng), { address, lng, info: first.maps[0] });
  }
}

interface FirstShown {
  readonly address: Address;
  readonly lng: string | undefined;
  /** The map, as the list has it. */
  readonly info: MapInfo | undefined;
}

/** Shows the map, where it is known what of it will be seen: else that depends on the panels. */
function showFirst(
  mapId: MapId,
  elements: readonly TreeElement[] | undefined,
  { address, lng, info }: FirstShown,
): void {
  // Once the viewer is there, it shows the map itself.
  if (!elements || address.opacity || document.querySelector(".viewer")) return;
  const tree = new LayerTree(elements, address.layers);
  const box = info?.startView ? boxOfView(info.startView) : tree.extent();
  if (!address.view && (!isWorld(box) || address.object)) return;
  const shows = { layers: tree.selection, base: address.base };
  const show = () => {
    const { innerWidth, innerHeight, devicePixelRatio } = window;
    const view = address.view ?? worldView(innerWidth, innerHeight, matchMedia(phonePages).matches);
    showFirstPicture(tileSource(mapId, shows, { lng, isSharp: devicePixelRatio > 1 }), view);
  };
  show();
  window.addEventListener("resize", () => {
    // Until the viewer has taken it.
    if (!globalThis.firstPicture) return;
    globalThis.firstPicture.element.remove();
    show();
  });
}

loadTexts(language).catch(() => undefined);
// Who is invited signs in first.
if (!hasSession() && !hasInvitation()) {
  globalThis.earlyAnswers = answers;
  globalThis.earlyEnd = askForFirst().catch(() => undefined); // the viewer tells what fails
}
