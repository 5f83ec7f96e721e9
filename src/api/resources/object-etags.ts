import { createHash } from "node:crypto";
import type { Caller, LayerNode } from "../../catalog/state.js";
import type { ObjectText } from "../../features/get.js";
import type { Reply } from "../../http/types.js";
import { onceForEach } from "../../once.js";
import { callerHeaders } from "../request/caller.js";

/** ETags of objects: of their rows' versions, which writes compare with those of If-Match. */

/** An object as JSON, with its ETag. */
export function taggedObject(caller: Caller, layer: LayerNode, { json, version }: ObjectText): Reply {
  const headers = callerHeaders(caller);
  return {
    kind: "json_text",
    text: json,
    headers: version === undefined ? headers : { ...headers, etag: `"${version}-${columnsTag(layer)}"` },
  };
}

/** Hash of the layer's columns, on which the representation of an object depends, too. */
const columnsTag = onceForEach(({ columns }: LayerNode) =>
  createHash("sha256").update(JSON.stringify(columns)).digest("base64url").slice(0, 8),
);
