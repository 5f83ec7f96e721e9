import type { Locale } from "./attributes.js";
import { h } from "./dom.js";
import { MapServer } from "./map-server.js";
import { Sessions } from "./sessions.js";
import { chooseLanguage, translator } from "./texts.js";
import { Viewer } from "./viewer.js";

/** Entry point of the viewer. */
const language = chooseLanguage();
const t = translator(language);
const locale: Locale = { language, t };
document.documentElement.lang = language;
document.title = `${t("viewerTitle")} · Mapwright`;

const sessions = new Sessions();
const root = h("div", { class: "viewer" });
document.body.replaceChildren(root);
await new Viewer(root, { server: new MapServer(language, sessions), sessions, locale, language }).start();
