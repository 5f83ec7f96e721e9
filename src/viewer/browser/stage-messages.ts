import { pageLink } from "./help-link.js";
import type { ServerError } from "./map-server.js";
import type { StageMessage } from "./stage.js";
import type { Translate } from "./texts.js";

/** Messages in the centre of the page while no map can be shown. */

/** There are no maps. */
export const noMapsMessage = (t: Translate, signIn: () => void): StageMessage => ({
  icon: "map",
  title: t("emptyTitle"),
  text: t("emptyHint"),
  actions: [{ label: t("signIn"), isMain: true, press: signIn }],
  link: pageLink("tutorials/first-map", t("emptyLink")),
});

/**
 * The map of a link, or its project, does not exist.
 * @param lead to other maps; undefined = there are none
 */
export const unknownMessage = (
  t: Translate,
  what: "map" | "project",
  lead: (() => void) | undefined,
): StageMessage => ({
  icon: "map",
  title: t(what === "map" ? "unknownTitle" : "unknownProject"),
  text: t("unknownHint"),
  actions: lead ? [{ label: t("chooseMap"), isMain: true, press: lead }] : [],
});

/** The map requires signing in, or as another user: `isForbidden` when the current user may not see it. */
export const privateMapMessage = (t: Translate, isForbidden: boolean, signIn: () => void): StageMessage => ({
  icon: "lock",
  title: t("privateTitle"),
  text: t(isForbidden ? "forbiddenHint" : "privateHint"),
  actions: [{ label: t("signIn"), isMain: true, press: signIn }],
});

/** The map could not be loaded, with a button that calls `retry`. */
export const loadFailedMessage = (
  t: Translate,
  { status }: ServerError,
  retry: () => void,
): StageMessage => ({
  icon: "alert",
  title: t("failedTitle"),
  text: t(status === 0 ? "failedOffline" : status === 503 ? "busyServer" : "failedServer"),
  actions: [{ label: t("retry"), isMain: true, press: retry }],
});
