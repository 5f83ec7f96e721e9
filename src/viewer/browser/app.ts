import "leaflet";
import type { Locale } from "./attributes.js";
import { DataLanguages } from "./data-languages.js";
import { h } from "./dom.js";
import { earlyEnded } from "./early-answers.js";
import { isEmbedded } from "./embed.js";
import { hasInvitation, takeInvitation } from "./invitation.js";
import { chooseLanguage, type Language } from "./language.js";
import { MapServer, ServerError } from "./map-server.js";
import { openStorage, Sessions } from "./sessions.js";
import { loadTexts, translator } from "./texts.js";
import { Units } from "./unit-system.js";
import { Viewer } from "./viewer.js";
import { welcome } from "./welcome.js";

/** Entry point of the viewer. */
// The secret leaves the address before anything else is done.
const link = location.hash;
const invitation = takeInvitation();
// Of the address of a page that is open already.
window.addEventListener("popstate", (event) => {
  if (!hasInvitation()) return;
  event.stopImmediatePropagation();
  location.reload();
});
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
const server = new MapServer(language, sessions, dataLanguages);
const viewer = new Viewer(root, {
  ...{ server, sessions, locale, language, dataLanguages },
  isEmbedded: embedded,
});
if (invitation && !embedded)
  welcome({ server, t }, invitation).then(
    (address) => (address === undefined ? viewer.start() : location.replace(address)),
    () => viewer.showFailure(new ServerError(0, undefined), () => location.assign(link)),
  );
else await viewer.start();
