/** The invitation in the address of the page, by which its reader chooses a password. */
export interface Invitation {
  readonly project: string;
  readonly secret: string;
}

const valuesOf = () => new URLSearchParams(location.hash.slice(1));

export const hasInvitation = (): boolean => valuesOf().has("invitation");

/** Takes it out of the address, so that neither a bookmark nor the history of the tab has it. */
export function takeInvitation(): Invitation | undefined {
  const values = valuesOf();
  const [secret, project] = [values.get("invitation"), values.get("project")];
  if (secret === null) return undefined;
  values.delete("invitation");
  history.replaceState(null, "", `#${values}`);
  return project === null ? undefined : { project, secret };
}
