import { button, h, type IconName, icon } from "./dom.js";
import { hasToolbarRoom, helpLink } from "./help-link.js";
import type { Language } from "./language.js";
import { type LanguageEvents, LanguageMenu } from "./language-menu.js";
import type { Translate } from "./texts.js";

export interface ToolbarEvents extends LanguageEvents {
  share(): void;
  signIn(): void;
  signOut(): void;
}

/** What can be chosen in the menu of the user. */
export interface UserAction {
  readonly label: string;
  press(): void;
}

/** The main button. */
export interface MainButton {
  readonly icon: IconName;
  readonly label: string;
}

/** The toolbar at the top right: languages, account, share. */
export class Toolbar {
  readonly element: HTMLElement;
  readonly languages: LanguageMenu;
  private readonly account = h("div", { class: "account" });
  private readonly more = h("a", { class: "button raised" });
  readonly main: HTMLButtonElement;
  private closeMenu: () => void = () => undefined;

  constructor(
    private readonly t: Translate,
    language: Language,
    private readonly events: ToolbarEvents,
    { icon: sign, label }: MainButton = { icon: "share", label: t("share") },
  ) {
    this.languages = new LanguageMenu(t, language, events);
    this.main = button(
      { class: "button main share", title: label },
      () => events.share(),
      icon(sign),
      h("span", { class: "button-text" }, label),
    );
    this.element = h(
      "header",
      { class: "toolbar" },
      this.languages.element,
      this.account,
      hasToolbarRoom() && helpLink(t, "button raised", false),
      this.main,
    );
    document.addEventListener("pointerdown", (event) => {
      if (!this.account.contains(event.target as Node)) this.closeMenu();
    });
  }

  /** Shows a way to another page with the same map; undefined = there is none. */
  showLink(link: (MainButton & { readonly address: string }) | undefined): void {
    if (!link) {
      this.more.remove();
      return;
    }
    this.account.after(this.more);
    this.more.href = link.address;
    this.more.title = link.label;
    this.more.setAttribute("aria-label", link.label);
    this.more.replaceChildren(icon(link.icon), h("span", { class: "button-text" }, link.label));
  }

  /**
   * Shows the user of the current project; undefined = not signed in.
   * @param actions what else the menu of the user has
   */
  showUser(login: string | undefined, actions: readonly UserAction[] = []): void {
    if (login === undefined) {
      const label = h("span", { class: "button-text" }, this.t("signIn"));
      this.account.replaceChildren(
        button(
          { class: "button raised sign-in-button", title: this.t("signIn") },
          () => this.events.signIn(),
          icon("user"),
          label,
        ),
      );
      return;
    }
    const menu = h(
      "div",
      { class: "card menu", hidden: true },
      h("p", {}, this.t("signedInAs", { login })),
      ...actions.map(({ label, press }) =>
        button(
          { class: "menu-entry" },
          () => {
            open(false);
            opener.focus();
            press();
          },
          label,
        ),
      ),
      button({ class: "menu-entry" }, () => this.events.signOut(), this.t("signOut")),
    );
    const initial = h("span", { class: "avatar", "aria-hidden": "true" }, [...login][0]?.toUpperCase() ?? "");
    const opener = button(
      {
        class: "button raised user-button",
        "aria-expanded": "false",
        title: this.t("signedInAs", { login }),
      },
      () => open(menu.hidden),
      initial,
      h("span", { class: "button-text" }, login),
    );
    const open = (isOpen: boolean) => {
      menu.hidden = !isOpen;
      opener.setAttribute("aria-expanded", String(isOpen));
      if (isOpen) menu.querySelector("button")?.focus();
    };
    this.closeMenu = () => open(false);
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      open(false);
      opener.focus();
    });
    this.account.replaceChildren(opener, menu);
  }
}
