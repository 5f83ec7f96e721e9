/**
 * What all of them make, for example open files. When one fails, what the others have made is undone.
 * @param undo its errors are ignored
 * @throws the error of the first in the list that fails
 */
export async function allOrNone<T>(
  making: readonly Promise<T>[],
  undo: (made: T) => Promise<unknown>,
): Promise<T[]> {
  const settled = await Promise.allSettled(making);
  const made = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = settled.find((one) => one.status === "rejected");
  if (!failed) return made;
  await Promise.allSettled(made.map(undo));
  throw failed.reason;
}
