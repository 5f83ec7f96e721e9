import type { Locale } from "./attributes.js";
import { DataLanguages } from "./data-languages.js";
import { h } from "./dom.js";
import { isEmbedded } from "./embed.js";
import { chooseLanguage } from "./language.js";
import { MapServer } from "./map-server.js";
import { openStorage, Sessions } from "./sessions.js";
import { translator } from "./texts.js";
import { Viewer } from "./viewer.js";

/** Entry point of the viewer. */
const language = chooseLanguage();
const t = translator(language);
const locale: Locale = { language, t };
document.documentElement.lang = language;
document.title = `${t("viewerTitle")} · Mapwright`;

// A page of others shows what everybody may see, so that it cannot lead the user of a session to press what he does not see.
const embedded = isEmbedded();
const sessions = new Sessions(embedded ? undefined : openStorage());
const dataLanguages = new DataLanguages();
const root = h("div", { class: "viewer" });
document.body.replaceChildren(root);
await new Viewer(root, {
  ...{ server: new MapServer(language, sessions, dataLanguages), sessions, locale, language, dataLanguages },
  isEmbedded: embedded,
}).start();
