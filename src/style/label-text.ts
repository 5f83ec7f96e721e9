/** What labels show of texts. */

/** Characters of a text. More have no room, and to set megabytes in lines takes gigabytes of memory, whether they are drawn or not. */
const mostCharacters = 1_000;

/** SQL of what a label shows of a text. */
export const shownText = (text: string): string => `left(${text}, ${mostCharacters})`;
