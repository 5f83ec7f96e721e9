/** A number and what it counts: `1 object`, `2 objects`, `0 objects`. @param thing the noun in the singular */
export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? "" : "s"}`;
