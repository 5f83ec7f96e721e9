/** Where the sessions take place: what a process needs that plays them. */

export type Columns = readonly {
  readonly id: number;
  readonly code: string;
  readonly type: string;
  readonly localized_value: boolean;
}[];

export interface Account {
  readonly login: string;
  readonly token: string;
}

export interface Layer {
  readonly code: string;
  readonly id: number;
  readonly columns: Columns;
}

export interface Place {
  /** Of the nodes. */
  readonly urls: readonly string[];
  readonly databaseUrl: string;
  readonly layers: readonly Layer[];
  readonly accounts: readonly Account[];
  /** Of who makes what is there before. */
  readonly token: string;
}

/** Of the project, the main one first. */
export const languages = ["en", "ru"];

export const layers = [
  { code: "plain", isLocalized: false },
  { code: "texts", isLocalized: true },
] as const;
