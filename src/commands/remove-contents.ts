import { removeAll } from "../catalog/removal.js";
import { type CommandEnvironment, type CommandServices, say } from "./environment.js";

/** Removes the data of what was deleted; a running server would do it too. */
export async function removeContents(env: CommandEnvironment, { db }: CommandServices): Promise<void> {
  if (!(await removeAll(db))) say(env, "Some of its data are still in use; a running server removes them.");
}
