import type { Translate } from "../texts.js";

/** What the editor of CartoCSS has of the console, and the console of the editor. */

export interface CartoParts {
  /** What it is put into. */
  readonly root: ShadowRoot;
  readonly t: Translate;
  /** Names the text for readers of screens. */
  readonly label: string;
  /** The user has changed the text. */
  changed(css: string): void;
  /** What cannot be read of the text as it is written, in words; "" = nothing. */
  found(text: string): void;
}

/** In a text, from 1. */
export interface StylePlace {
  readonly line: number;
  readonly column: number;
}
export interface StyleError {
  readonly text: string;
  /** Absent = nobody knows where. */
  readonly place?: StylePlace | undefined;
}

export interface CartoEditor {
  /** @param of what the text is of: with another it is another text, of which nothing is undone */
  show(css: string, of: unknown): void;
  /** Codes of the columns that the style can read. */
  columns(codes: readonly string[]): void;
  /** What the server says of the text, until it is changed; undefined = nothing. */
  tell(error: StyleError | undefined): void;
  /** Selects from a place to the end of its line. */
  goTo(place: StylePlace): void;
  /** @param from and to, in characters; absent = as it is */
  select(from: number, to: number): void;
  focus(): void;
}
