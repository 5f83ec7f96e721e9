/** What test files that share a process have in common; it ends when the last of them is done. */

type Act = () => Promise<unknown>;

let acts: Act[] | undefined;

/** To be called before the first file of several in one process. */
export function share(): void {
  acts = [];
}

/** Whether other files may follow in this process. */
export const isShared = (): boolean => acts !== undefined;

/** To be called when all files are done. */
export const atEnd = (act: Act): void => void acts?.push(act);

export async function end(): Promise<void> {
  for (const act of acts ?? []) await act();
}
