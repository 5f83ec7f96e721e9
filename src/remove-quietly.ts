import { rm } from "node:fs/promises";

/**
 * Removes a file or folder, if it is there. Never rejects: the code that tidies up has a result or an error of its own to tell, and
 * what remains is removed as abandoned. What is inside a folder may still be written to by a process that is about to end.
 */
export const removeQuietly = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 5 }).catch(() => undefined);
