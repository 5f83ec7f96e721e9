import type { Known } from "../../../ignored-members.js";
import type { JsonSchema } from "./schema.js";

/**
 * What a JSON Schema of a body knows of its members; undefined = anything may be in it. What one of several alternatives
 * knows, all do.
 */
export const knownBy = (...schemas: readonly JsonSchema[]): Known | undefined => {
  const alternatives = schemas.flatMap(alternativesOf);
  const objects = alternatives.filter((one) => mayBe("object", one));
  const arrays = alternatives.filter((one) => mayBe("array", one));
  const items = arrays.some((one) => one.items === undefined)
    ? undefined
    : arrays.length > 0 && knownBy(...arrays.map((one) => one.items as JsonSchema));
  const isOpen = objects.some(
    ({ properties, additionalProperties: others = false }) => properties === undefined || others !== false,
  );
  const members = new Map<string, JsonSchema[]>();
  if (!isOpen)
    for (const { properties } of objects)
      for (const [name, schema] of Object.entries(properties as Readonly<Record<string, JsonSchema>>))
        members.set(name, [...(members.get(name) ?? []), schema]);
  if (members.size === 0 && !items) return undefined;
  return {
    ...(members.size > 0 && {
      members: new Map([...members].map(([name, below]) => [name, knownBy(...below) ?? {}])),
    }),
    ...(items && { items }),
  };
};

/** Geometries, to which others refer, have foreign members by their own standard (RFC 7946): they stay references. */
function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  const { anyOf = [], oneOf = [], allOf = [], ...own } = schema as Record<string, readonly JsonSchema[]>;
  const combined = [...anyOf, ...oneOf, ...allOf].flatMap(alternativesOf);
  return combined.length === 0 || "properties" in own ? [own, ...combined] : combined;
}

const mayBe = (type: string, schema: JsonSchema): boolean =>
  "const" in schema || "enum" in schema
    ? false
    : schema.type === undefined || [schema.type].flat().includes(type);
