/** Storage that outlives the tab; undefined when the browser has it disabled. */
export function openLocalStorage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
