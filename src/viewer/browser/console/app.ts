import "leaflet";
import type { Locale } from "../attributes.js";
import { DataLanguages } from "../data-languages.js";
import { h } from "../dom.js";
import { chooseLanguage, type Language } from "../language.js";
import { MapServer } from "../map-server.js";
import { openStorage, Sessions } from "../sessions.js";
import { loadTexts, translator } from "../texts.js";
import { Units } from "../unit-system.js";
import { Console } from "./console.js";

/** Entry point of the console. */
const chosen = chooseLanguage();
const [language, texts] = await loadTexts(chosen)
  .then((found) => [chosen, found] as const)
  // A page in another language is better than none.
  .catch(async () => ["en" satisfies Language, await loadTexts("en")] as const);
const t = translator(language, texts);
const locale: Locale = { language, t, units: new Units() };
document.documentElement.lang = language;

const sessions = new Sessions(openStorage());
const dataLanguages = new DataLanguages();
const server = new MapServer(language, sessions, dataLanguages, "console");
const root = h("div", { class: "viewer console" });
document.body.replaceChildren(root);
await new Console(root, { server, sessions, locale, language, dataLanguages }).start();
