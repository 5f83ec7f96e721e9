import type { Locale } from "../attributes.js";

/** An invitation to choose a password, as the server has just made it. */
export interface Invitation {
  readonly invitation: string;
  /** When it ends. */
  readonly expires: string;
}

/** The address that is sent to whom it is for. */
export function invitationAddress(project: string, { invitation }: Invitation): string {
  const page = new URL("./", document.baseURI);
  // Behind the #, which browsers send to no server.
  page.hash = String(new URLSearchParams({ project, invitation }));
  return page.href;
}

/** A day, as people of that language write it. */
export const dayOf = ({ language }: Pick<Locale, "language">, moment: string): string =>
  new Intl.DateTimeFormat(language, { dateStyle: "long" }).format(new Date(moment));
