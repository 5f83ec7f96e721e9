import { button, h, icon } from "./dom.js";
import { type Language, languages } from "./language.js";
import type { Translate } from "./texts.js";

export interface LanguageEvents {
  changeLanguage(language: Language): void;
  /** @param language of the project; undefined = that of the interface */
  changeDataLanguage(language: string | undefined): void;
}

/** The menu with the languages of the interface, and those of the project's data. */
export class LanguageMenu {
  readonly element: HTMLElement;
  private readonly opener: HTMLButtonElement;
  private readonly menu = h("div", { class: "card menu language-menu", role: "menu", hidden: true });
  private readonly data = h("div", { role: "group", hidden: true });

  constructor(
    private readonly t: Translate,
    private readonly language: Language,
    private readonly events: LanguageEvents,
  ) {
    this.opener = button(
      { class: "button raised", "aria-haspopup": "menu", "aria-expanded": "false" },
      () => this.open(this.menu.hidden),
      icon("globe"),
      h("span", { class: "button-text" }, language.toUpperCase()),
    );
    this.label(undefined);
    this.menu.setAttribute("aria-label", t("language"));
    this.data.setAttribute("aria-label", t("dataLanguage"));
    this.menu.append(
      h(
        "div",
        { role: "group", "aria-label": t("interfaceLanguage") },
        heading(t("interfaceLanguage")),
        ...languages.map((code) =>
          this.entry({ code, isChosen: code === language, attribute: "interface" }, () => {
            if (code !== language) events.changeLanguage(code);
          }),
        ),
      ),
      this.data,
    );
    this.element = h("div", { class: "languages" }, this.opener, this.menu);
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("focusout", ({ relatedTarget }) => {
      if (relatedTarget instanceof Node && !this.element.contains(relatedTarget)) this.open(false);
    });
    document.addEventListener("pointerdown", (event) => {
      if (!this.element.contains(event.target as Node)) this.open(false);
    });
  }

  /** Offers the languages of a project. @param chosen one of them; undefined = that of the interface */
  showData(codes: readonly string[], chosen: string | undefined): void {
    const { t } = this;
    const choose = (code: string | undefined) => () => {
      if (code !== chosen) this.events.changeDataLanguage(code);
    };
    this.data.hidden = codes.length < 2;
    this.label(this.data.hidden ? undefined : chosen);
    this.data.replaceChildren(
      heading(t("dataLanguage")),
      this.entry({ code: "", isChosen: chosen === undefined, attribute: "language" }, choose(undefined)),
      ...codes.map((code) =>
        this.entry({ code, isChosen: code === chosen, attribute: "language" }, choose(code)),
      ),
    );
  }

  private label(data: string | undefined): void {
    const chosen = data === undefined || data === this.language ? [] : [data];
    const names = [this.language, ...chosen].map((code) => nameOf(code, this.language).name);
    const label = `${this.t("language")}: ${names.join(", ")}`;
    this.opener.title = label;
    // Who speaks to the page says what is written there.
    this.opener.setAttribute("aria-label", `${this.language.toUpperCase()}, ${label}`);
  }

  private entry(
    choice: {
      /** "" = that of the interface. */
      readonly code: string;
      readonly isChosen: boolean;
      readonly attribute: "interface" | "language";
    },
    choose: () => void,
  ): HTMLElement {
    const { name, lang } =
      choice.code === ""
        ? { name: this.t("likeInterface"), lang: this.language }
        : nameOf(choice.code, this.language);
    return button(
      {
        class: "menu-entry with-icon",
        role: "menuitemradio",
        "aria-checked": String(choice.isChosen),
        [`data-${choice.attribute}`]: choice.code,
        lang,
        dir: "auto",
        tabindex: -1,
      },
      () => {
        this.open(false);
        this.opener.focus();
        choose();
      },
      h("span", { class: "menu-mark" }, choice.isChosen && icon("check")),
      h("span", {}, name),
    );
  }

  private open(isOpen: boolean): void {
    if (this.menu.hidden === !isOpen) return;
    this.menu.hidden = !isOpen;
    this.opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) this.menu.querySelector<HTMLElement>("[aria-checked=true]")?.focus();
  }

  private key(event: KeyboardEvent): void {
    if (this.menu.hidden) {
      if (event.key !== "ArrowDown") return;
      event.preventDefault();
      this.open(true);
      return;
    }
    if (event.key === "Escape" || event.key === "Tab") {
      this.open(false);
      this.opener.focus();
      if (event.key === "Escape") event.stopPropagation();
      return;
    }
    const entries = [...this.menu.querySelectorAll<HTMLElement>("button")].filter(
      (entry) => !entry.parentElement!.hidden,
    );
    const at = entries.indexOf(document.activeElement as HTMLElement);
    const places: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: -1,
    };
    const place = places[event.key];
    if (place === undefined) return;
    event.preventDefault();
    entries[(place + entries.length) % entries.length]?.focus();
  }
}

const heading = (text: string): HTMLElement => h("p", { class: "menu-heading", "aria-hidden": "true" }, text);

/** What a language calls itself; if the browser does not know that, what another one calls it, or its code. */
function nameOf(code: string, other: Language): { readonly name: string; readonly lang: string } {
  try {
    const names = new Intl.DisplayNames([code, other], { type: "language" });
    const lang = names.resolvedOptions().locale;
    const [first = "", ...others] = names.of(code) ?? code;
    return { name: first.toLocaleUpperCase(lang) + others.join(""), lang };
  } catch {
    return { name: code, lang: "" };
  }
}
