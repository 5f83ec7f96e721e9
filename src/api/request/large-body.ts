import type { Request } from "../../http/types.js";

/** Which bodies are read in another thread (`services.bodies`). */

/** Size in bytes of a large body. Reading it takes some 3 ms, and of arrays without end 10; handing them over and back takes 0.3 ms. */
const mostOnThread = 128 * 1024;

/**
 * Whether the body, which is received for it, is read in another thread.
 * @param most bytes that are read in this one
 * @throws Failure too_large
 */
export const isLarge = async (request: Request, most = mostOnThread): Promise<boolean> =>
  (await request.body.length()) > most;
