import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import type { LayerNode, StoredSettings } from "../catalog/state.js";
import { columnOf, type Settings } from "./columns.js";
import type { PluginColumns, VisualPlugin } from "./plugin.js";
import { arrows } from "./plugins/arrows.js";
import type { Range } from "./values.js";

/** Loads the plug-ins of custom visualizations, and asks them for styles. */

/** By name. */
export type Plugins = ReadonlyMap<string, VisualPlugin>;

/** A plug-in that cannot be used. */
export interface PluginProblem {
  /** As the configuration names it. */
  readonly entry: string;
  readonly reason: string;
}

/** Those that come with the server. */
const shipped: readonly VisualPlugin[] = [arrows];

/** Loads the plug-ins of the configuration: names of shipped ones, and absolute paths of modules. */
export async function loadPlugins(
  entries: readonly string[],
): Promise<{ readonly plugins: Plugins; readonly problems: readonly PluginProblem[] }> {
  const plugins = new Map<string, VisualPlugin>();
  const problems: PluginProblem[] = [];
  for (const entry of entries) {
    try {
      const plugin = shipped.find(({ name }) => name === entry) ?? (await loadModule(entry));
      if (plugins.has(plugin.name)) throw new Error(`another plug-in is named "${plugin.name}"`);
      plugins.set(plugin.name, plugin);
    } catch (error) {
      problems.push({ entry, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { plugins, problems };
}

async function loadModule(path: string): Promise<VisualPlugin> {
  if (!isAbsolute(path)) throw new Error("neither a plug-in of the server nor an absolute path");
  const { default: plugin } = (await import(pathToFileURL(path).href)) as { default?: Partial<VisualPlugin> };
  const isNamed = typeof plugin?.name === "string" && /^.{1,200}$/.test(plugin.name);
  if (!isNamed || typeof plugin.read !== "function" || typeof plugin.style !== "function")
    throw new Error("its default export has no name, or no functions read and style");
  return plugin as VisualPlugin;
}

/** Whether tiles draw the layer by a plug-in, if there is that plug-in. */
export const isCustom = (layer: LayerNode): boolean =>
  layer.visualCustomSettings !== null && layer.styleMode === 4;

/** The layer's plug-in; undefined = clients draw it. */
export const pluginOf = (layer: LayerNode, plugins: Plugins): VisualPlugin | undefined =>
  isCustom(layer) ? plugins.get(String(layer.visualCustomSettings!.type)) : undefined;

/**
 * The CartoCSS of the layer's plug-in; undefined when it has none.
 * @param range of the values of the column that the plug-in named
 * @throws what the plug-in throws
 */
export function pluginStyle(layer: LayerNode, plugins: Plugins, range: Range | null): string | undefined {
  const settings = layer.visualCustomSettings;
  const plugin = pluginOf(layer, plugins);
  if (!plugin || !settings) return undefined;
  const css = plugin.style(settings.settings as Settings, columnsOf(layer, settings), range);
  if (typeof css !== "string") throw new Error("The plug-in gave no text.");
  return css;
}

/** The columns that settings name. */
export function columnsOf(layer: LayerNode, settings: StoredSettings): PluginColumns {
  const named = Object.entries(settings.columns as Readonly<Record<string, number>>);
  return new Map(
    named.flatMap(([uuid, id]) => {
      const column = columnOf(layer, id);
      return column ? [[uuid, { code: column.code, type: column.type }] as const] : [];
    }),
  );
}
