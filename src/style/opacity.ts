/**
 * The attributes of a marker of one shape with its opacity in its fill and stroke: for one with an opacity as a whole Mapnik
 * draws on a canvas of its own, as large as the tile, which takes a hundred times as long.
 */
export function withOwnOpacity(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const { opacity, ...rest } = attributes;
  if (opacity === undefined) return rest;
  const times = (own: string | undefined) => (own === undefined ? opacity : product(own, opacity));
  return {
    ...rest,
    "fill-opacity": times(rest["fill-opacity"]),
    "stroke-opacity": times(rest["stroke-opacity"]),
  };
}

/** Of two numbers or expressions. */
const product = (one: string, other: string): string => {
  const number = Number(one) * Number(other);
  return Number.isNaN(number) ? `(${one}) * (${other})` : String(number);
};
