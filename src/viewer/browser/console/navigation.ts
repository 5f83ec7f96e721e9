import { type Address, formatAddress, parseAddress, type View } from "../address.js";
import type { MapId, MapServer, ProjectInfo } from "../map-server.js";
import type { Sessions } from "../sessions.js";
import type { SignIns } from "./sign-ins.js";
import type { Workplace } from "./workplace.js";

/** What the page shows at an address. */
export interface NavigationEvents {
  loading(): void;
  /** The project and its maps are known. */
  loaded(): void;
  home(): void;
  /** @param isCurrent whether it is still wanted when it is there @param view undefined = all of the map @throws ServerError */
  map(mapId: MapId, isCurrent: () => boolean, view: View | undefined): Promise<void>;
  /** Nobody is signed in, or somebody who may not edit. */
  refused(): void;
  failed(error: unknown, retry: () => void): void;
}

export interface NavigationParts {
  readonly place: Workplace;
  readonly server: MapServer;
  readonly sessions: Sessions;
  readonly signIns: SignIns;
}

/** Keeps what is shown and the URL fragment in step. */
export class Navigation {
  /** Number of addresses gone to, so that a late answer for a previous one is ignored. */
  private number = 0;

  constructor(
    private readonly parts: NavigationParts,
    private readonly events: NavigationEvents,
  ) {}

  /** Opens a map, or the list of maps, and puts its address into the history. */
  async go(wanted: Pick<Address, "project" | "map">, entry: "push" | "replace" = "push"): Promise<void> {
    const address = { ...parseAddress(""), ...wanted };
    const url = `${location.pathname}${formatAddress(address)}`;
    if (entry === "push") history.pushState(null, "", url);
    else history.replaceState(null, "", url);
    await this.show(address);
  }

  /** The open map shows another place: its address has it, so that it is there again after a reload, and for others who get it. */
  moved(view: View): void {
    const address = parseAddress(location.hash);
    const { mapId } = this.parts.place;
    // On the way to another map the address is that one's already.
    if (!mapId || address.project !== mapId.project || address.map !== mapId.map) return;
    history.replaceState(null, "", `${location.pathname}${formatAddress({ ...address, view })}`);
  }

  /** Shows what is at an address. */
  async show({
    project,
    map,
    view,
  }: Pick<Address, "project" | "map"> & Partial<Pick<Address, "view">>): Promise<void> {
    this.number++;
    const isCurrent = this.untilNext();
    const { place } = this.parts;
    // What is asked is about the map that was open.
    for (const dialog of document.querySelectorAll<HTMLDialogElement>("dialog.tool-dialog")) dialog.close();
    this.events.loading();
    try {
      await this.loadProject(project, isCurrent);
      if (!isCurrent()) return;
      if (!place.mayEdit(map)) this.events.refused();
      else if (map === undefined) this.events.home();
      else await this.events.map({ project: place.projectCode!, map }, isCurrent, view);
    } catch (error) {
      if (isCurrent()) this.events.failed(error, () => void this.show({ project, map, view }));
    }
  }

  /** Loads a project with its maps, as its user sees it. Who has no session is asked to sign in. @throws ServerError */
  async loadProject(wanted = this.parts.place.projectCode, isCurrent = this.untilNext()): Promise<void> {
    const { place, server, sessions, signIns } = this.parts;
    let code = wanted ?? sessions.projects()[0] ?? (await server.projects())[0]?.code;
    let projects: readonly ProjectInfo[] = [];
    const hasSession = () => code !== undefined && sessions.of(code) !== undefined;
    do {
      if (!isCurrent()) return;
      if (!hasSession()) {
        const signedIn = await signIns.ask(code);
        if (signedIn === undefined) break;
        code = signedIn;
      }
      // A session that has ended is forgotten by it.
      projects = await server.projects(code);
    } while (!hasSession());
    // A late answer is for what was left.
    if (!isCurrent()) return;
    place.projectCode = code;
    place.projects = projects;
    this.events.loaded();
  }

  /** Whether the page still shows what it shows now. */
  private untilNext(): () => boolean {
    const { number } = this;
    return () => number === this.number;
  }
}
