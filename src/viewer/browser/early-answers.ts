/** Answers that were asked for while the scripts of the page were on their way, by address. */

declare global {
  var earlyAnswers: Map<string, Promise<Response>> | undefined;
}

/** Later an answer may not be what the server would say now. */
const longestMs = 60_000;

/** The answer, once; undefined when it was not asked for, or did not come. */
export async function takeEarly(address: string): Promise<Response | undefined> {
  const answer = performance.now() < longestMs ? globalThis.earlyAnswers?.get(address) : undefined;
  globalThis.earlyAnswers?.delete(address);
  return answer?.catch(() => undefined);
}
