/**
 * Waits for work, but not for long. Nothing ends work that takes longer, and what becomes of it then is not told.
 * @param ms milliseconds
 * @param late says what comes in the place of the result, or throws
 * @throws what the work throws in time
 */
export async function inTime<Result, Late>(
  work: Promise<Result>,
  ms: number,
  late: () => Late,
): Promise<Result | Late> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  }).then(late);
  try {
    return await Promise.race([work, end]);
  } finally {
    clearTimeout(timer);
  }
}
