/** The part of carto 1.2.0 that we use; it comes without types. */
declare module "carto" {
  interface Message {
    readonly type: "error" | "warning";
    readonly message: string;
    readonly filename?: string | null;
    /** From 1. */
    readonly line?: number;
    /** From 0. */
    readonly column?: number;
  }
  /** Environment of one compilation: variables and messages. */
  export interface Env {
    readonly frames?: readonly unknown[];
  }
  interface Prototype {
    // biome-ignore lint/suspicious/noExplicitAny: methods of any signature are wrapped
    [method: string]: (...args: any[]) => unknown;
  }
  interface Carto {
    Renderer: new (options: {
      outputFormat: "json";
      quiet: boolean;
      version: string;
      reference: { latest: string; versions: string[]; load(version: string): unknown };
    }) => {
      render(project: {
        Stylesheet: { id: string; data: string }[];
        Layer: { id: string; class: string }[];
      }): { msg?: Message[]; data: string | null };
    };
    Util: { error(env: Env, message: unknown): void };
    tree: Record<
      "Filterset" | "Field" | "Quoted" | "Rule" | "Definition" | "Variable" | "Operation" | "Call",
      { prototype: Prototype }
    >;
  }
  const carto: Carto;
  export default carto;
}

declare module "mapnik-reference" {
  interface Property {
    css?: string;
    type: unknown;
    required?: boolean;
  }
  interface Reference {
    version: string;
    symbolizers: Record<string, Record<string, Property>>;
    datasources: unknown;
  }
  const reference: { latest: string; load(version: string): Reference };
  export default reference;
}
