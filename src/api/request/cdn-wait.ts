import { withHeaders } from "../../http/headers.js";
import { isReading, type Reply, type Request } from "../../http/types.js";
import type { Services } from "../services.js";

/** Answers of edits wait until the CDN has dropped what they made old, and say whether it has. */

/** `purged`: the CDN shows nothing older than the edit; `pending`: it may, for a moment. */
const header = "x-edge";

type Handle = (services: Services) => Promise<Reply> | Reply;

/** Handles a request, and waits for the CDN if it has written. */
export function whenCdnIsTold(
  { method }: Pick<Request, "method">,
  services: Services,
  handle: Handle,
): Promise<Reply> | Reply {
  const { changes, toldMarks } = services;
  if (isReading(method) || !toldMarks.isWaitedFor) return handle(services);
  let last: { readonly receipt: string | undefined } | undefined;
  const noting: Services["changes"] = {
    get trusted() {
      return changes.trusted;
    },
    propagate: async (receipt) => {
      const received = await changes.propagate(receipt);
      last = { receipt: received };
      return received;
    },
  };
  const answered = async () => {
    const reply = await handle({ ...services, changes: noting });
    if (!last) return reply;
    const state = await toldMarks.wait(last.receipt);
    return withHeaders(reply, { [header]: state });
  };
  return answered();
}
