/** Answers that were asked for while the scripts of the page were on their way, by address. */

declare global {
  var earlyAnswers: Map<string, Promise<Response>> | undefined;
  /** Once the first tiles are asked for, or will not be. */
  var earlyEnd: Promise<void> | undefined;
}

/** Later an answer may not be what the server would say now. */
const longestMs = 60_000;

/** Nobody waits longer for the first tiles: without an answer the viewer says so. */
const longestWaitMs = 1_000;

/** Waits until the first tiles are asked for, so that they are on their way while the viewer is built. */
export async function earlyEnded(): Promise<void> {
  const late = new Promise<void>((resolve) => window.setTimeout(resolve, longestWaitMs));
  await Promise.race([globalThis.earlyEnd, late]);
}

/** The answer, once; undefined when it was not asked for, or did not come. */
export async function takeEarly(address: string): Promise<Response | undefined> {
  const answer = performance.now() < longestMs ? globalThis.earlyAnswers?.get(address) : undefined;
  globalThis.earlyAnswers?.delete(address);
  return answer?.catch(() => undefined);
}
