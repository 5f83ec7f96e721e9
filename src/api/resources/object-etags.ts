import { createHash } from "node:crypto";
import { z } from "zod";
import type { Caller, LayerNode } from "../../catalog/state.js";
import type { ObjectText } from "../../features/get.js";
import type { Reply } from "../../http/types.js";
import { callerHeaders } from "../request/caller.js";
import { ruled } from "../request/schema/schema.js";

/** ETags of objects, and conditional writes (`If-Match`). */

/** An object as JSON, with its ETag. */
export function taggedObject(caller: Caller, layer: LayerNode, { json, version }: ObjectText): Reply {
  const headers = callerHeaders(caller);
  return {
    kind: "json_text",
    text: json,
    headers: version === undefined ? headers : { ...headers, etag: `"${version}-${columnsTag(layer)}"` },
  };
}

const columnsTags = new WeakMap<LayerNode, string>();

/** Hash of the layer's columns, on which the representation of an object depends, too. */
function columnsTag(layer: LayerNode): string {
  let tag = columnsTags.get(layer);
  if (tag === undefined) {
    tag = createHash("sha256").update(JSON.stringify(layer.columns)).digest("base64url").slice(0, 8);
    columnsTags.set(layer, tag);
  }
  return tag;
}

/** Upper bound on the number of tags in If-Match. */
const maxTags = 100;

/**
 * `If-Match`: the accepted versions of the object; undefined = any. The comparison is strong (RFC 9110, 13.1.1), so
 * weak tags and tags of other servers never match.
 */
const ifMatch = ruled(z.string(), { blanks: [] })
  .transform((given) => {
    if (given.trim() === "*") return undefined;
    const found = given.matchAll(/(W\/)?"([^"]*)"/g);
    return [...found]
      .filter(([, weak]) => weak === undefined)
      .slice(0, maxTags)
      .map(([, , tag = ""]) => tag.split("-", 1)[0] ?? "");
  })
  .meta({
    description: "Expected ETag of the object. If the object has changed since, the response is 412.",
    examples: ['"4711.90f3b6c2d1e7-x8Qz0a1b"'],
  })
  .optional();

export const matchHeaders = { "if-match": ifMatch };
