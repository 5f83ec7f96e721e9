import { formatAddress, parseAddress } from "../address.js";
import type { DataLanguages } from "../data-languages.js";
import { button, h, icon } from "../dom.js";
import { type Language, rememberLanguage } from "../language.js";
import { MapChooser } from "../map-chooser.js";
import type { MapId } from "../map-server.js";
import type { Translate } from "../texts.js";
import { Toolbar } from "../toolbar.js";
import type { SignIns } from "./sign-ins.js";
import type { Workplace } from "./workplace.js";

export interface HeaderParts {
  readonly place: Workplace;
  readonly signIns: SignIns;
  readonly t: Translate;
  readonly language: Language;
  readonly dataLanguages: DataLanguages;
  /** Whether that user of the project is an operator. */
  readonly isOperator: (login: string | undefined, project: string | undefined) => boolean;
}
export interface HeaderEvents {
  publish(): void;
  signIn(): void;
  signOut(): void;
  people(): void;
  /** What was deleted and changed. */
  past(): void;
  installation(): void;
  choose(mapId: MapId): void;
  /** Names are to be read in another language. */
  languageChanged(): void;
}

/** What says where one is and who one is: the list of maps, the toolbar and the title of the page. */
export class Header {
  readonly chooser: MapChooser;
  readonly toolbar: Toolbar;
  /** Who may do what in the project; on phones it is in the menu of the user. */
  private readonly people: HTMLButtonElement;
  /** The way back to all maps. */
  private readonly home: HTMLAnchorElement;

  constructor(
    private readonly parts: HeaderParts,
    private readonly events: HeaderEvents,
  ) {
    const { t, place, dataLanguages } = parts;
    this.chooser = new MapChooser(t, (mapId) => events.choose(mapId));
    this.home = h(
      "a",
      { class: "to-home", title: t("allMaps") },
      icon("chevronLeft"),
      h("span", {}, t("allMaps")),
    );
    this.chooser.element.firstElementChild?.prepend(this.home);
    this.toolbar = new Toolbar(
      t,
      parts.language,
      {
        share: () => events.publish(),
        signIn: () => events.signIn(),
        signOut: () => events.signOut(),
        changeLanguage: (language) => {
          rememberLanguage(language);
          location.reload();
        },
        changeDataLanguage: (language) => {
          if (place.projectCode === undefined) return;
          dataLanguages.choose(place.projectCode, language);
          events.languageChanged();
        },
      },
      { icon: "share", label: t("publish") },
    );
    this.people = button(
      { class: "button raised people-button", title: t("people") },
      () => events.people(),
      icon("people"),
      h("span", { class: "button-text" }, t("people")),
    );
    this.toolbar.main.before(this.people);
  }

  /** Shows what is open now. */
  show(): void {
    const { place, signIns, t, dataLanguages } = this.parts;
    const { projectCode: code, mapId, project } = place;
    const { toolbar } = this;
    const { login } = signIns;
    const maySee = login !== undefined && place.mayAdminister;
    this.people.hidden = !maySee;
    const press = () => this.events.people();
    const past = { label: t("binAndHistory"), press: () => this.events.past() };
    const installation = { label: t("installation"), press: () => this.events.installation() };
    toolbar.showUser(login, [
      ...(maySee ? [{ label: t("people"), press }] : []),
      ...(place.mayEditAnything ? [past] : []),
      ...(this.parts.isOperator(login, code) ? [installation] : []),
    ]);
    toolbar.languages.showData(project?.languages ?? [], code && dataLanguages.of(code));
    toolbar.main.hidden = mapId === undefined;
    // With its path: the page has a base, from which fragments alone would lead away.
    this.home.href = `${location.pathname}${formatAddress({ ...parseAddress(""), project: code })}`;
    const viewer = mapId && {
      icon: "eye" as const,
      label: t("openViewer"),
      address: `./${formatAddress({ ...parseAddress(""), ...mapId })}`,
    };
    toolbar.showLink(viewer);
    this.chooser.update(place.projects, mapId);
    const title = place.title ?? project?.name;
    document.title = [title, t("consoleTitle"), "Mapwright"].filter(Boolean).join(" · ");
  }
}
