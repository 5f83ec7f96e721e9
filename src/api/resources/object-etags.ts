import { createHash } from "node:crypto";
import { z } from "zod";
import type { Caller, LayerNode } from "../../catalog/state.js";
import type { ObjectText } from "../../features/get.js";
import type { Reply } from "../../http/types.js";
import { callerHeaders } from "../request/caller.js";
import { ruled } from "../request/schema/schema.js";

/** ETags of objects, and writes that are meant for one state of an object (`If-Match`). */

/** An object as JSON, with its ETag. */
export function taggedObject(caller: Caller, layer: LayerNode, { json, version }: ObjectText): Reply {
  const headers = callerHeaders(caller);
  return {
    kind: "json_text",
    text: json,
    headers: version === undefined ? headers : { ...headers, etag: `"${version}-${columnsTag(layer)}"` },
  };
}

const tags = new WeakMap<LayerNode, string>();

/** What an answer shows of an object depends on its layer's columns too. */
function columnsTag(layer: LayerNode): string {
  let tag = tags.get(layer);
  if (tag === undefined) {
    tag = createHash("sha256").update(JSON.stringify(layer.columns)).digest("base64url").slice(0, 8);
    tags.set(layer, tag);
  }
  return tag;
}

/** Upper bound on the number of tags in If-Match. */
const maxTags = 100;

/**
 * `If-Match`: the versions that the object may have; undefined = any. Compared strongly (RFC 9110, 13.1.1), so a weak tag
 * matches nothing, nor does one that this server did not make.
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
    description:
      "ETag of the object that the change is meant for; when it is another one by now, the answer is 412.",
    examples: ['"4711.90f3b6c2d1e7-x8Qz0a1b"'],
  })
  .optional();

export const matchHeaders = { "if-match": ifMatch };
