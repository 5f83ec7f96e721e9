import "leaflet";
import type { Locale } from "./attributes.js";
import { DataLanguages } from "./data-languages.js";
import { h } from "./dom.js";
import { earlyEnded } from "./early-answers.js";
import { isEmbedded } from "./embed.js";
import { chooseLanguage, type Language } from "./language.js";
import { MapServer } from "./map-server.js";
import { openStorage, Sessions } from "./sessions.js";
import { loadTexts, translator } from "./texts.js";
import { Units } from "./unit-system.js";
import { Viewer } from "./viewer.js";

/** Entry point of the viewer. */
const chosen = chooseLanguage();
const [language, texts] = await loadTexts(chosen)
  .then((found) => [chosen, found] as const)
  // A page in another language is better than none.
  .catch(async () => ["en" satisfies Language, await loadTexts("en")] as const);
const t = translator(language, texts);
const locale: Locale = { language, t, units: new Units() };
document.documentElement.lang = language;
document.title = `${t("viewerTitle")} · Mapwright`;

// A page of others shows what everybody may see, so that it cannot lead the user of a session to press what he does not see.
const embedded = isEmbedded();
const sessions = new Sessions(embedded ? undefined : openStorage());
const dataLanguages = new DataLanguages();
await earlyEnded();
const root = h("div", { class: "viewer" });
document.body.replaceChildren(root);
await new Viewer(root, {
  ...{ server: new MapServer(language, sessions, dataLanguages), sessions, locale, language, dataLanguages },
  isEmbedded: embedded,
}).start();
