import type { TreeItem } from "./layer-tree.js";
import type { PrintSheet } from "./print.js";
import type { ClosableTool, OpenTool, ToolParts } from "./tool-parts.js";
import type { BookmarkEvents } from "./tools/bookmarks.js";
import type { Shared } from "./tools/share-dialog.js";

/** What people do with a map besides looking at it. Its parts are loaded when they are first opened. */

export class Tools {
  private table: OpenTool | undefined;
  private measure: ClosableTool | undefined;
  private styles: Promise<void> | undefined;

  constructor(private readonly parts: ToolParts) {
    parts.view.highlighted = (hit) => this.table?.highlighted(hit);
  }

  /** Opens the table of a layer's objects, or with it a chart of those in view. */
  async openTable(layer: TreeItem, withChart = false): Promise<void> {
    const tool = await this.load(() => import("./tools/table.js"));
    const opened = this.parts.opened();
    if (!tool || !opened) return;
    this.table?.close();
    this.table = tool.openTable(this.parts, { ...opened, layer, withChart }, () => {
      this.table = undefined;
    });
  }

  /** Begins to measure, at a place; without one, ends what was begun. */
  async openMeasure(from?: L.LatLng): Promise<void> {
    if (this.measure) {
      this.measure.close();
      if (!from) return;
    }
    const tool = await this.load(() => import("./tools/measure.js"));
    if (!tool || this.measure) return;
    this.measure = tool.openMeasure(this.parts, from, () => {
      this.measure = undefined;
    });
  }

  async share(shared: () => Shared): Promise<void> {
    const tool = await this.load(() => import("./tools/share-dialog.js"));
    tool?.showShareDialog(this.parts, shared());
  }

  async showBookmarks(events: () => BookmarkEvents): Promise<void> {
    const tool = await this.load(() => import("./tools/bookmarks.js"));
    tool?.showBookmarks(this.parts, events());
  }

  async print(sheet: PrintSheet): Promise<void> {
    const tool = await this.load(() => import("./tools/print.js"));
    await tool?.printMap(sheet);
  }

  /** Closes what belongs to the map that was open. */
  closeMap(): void {
    this.table?.close();
    this.measure?.close();
  }

  /** Objects of the map have changed. */
  changed(): void {
    this.table?.changed();
  }

  /** A tool with its styles; undefined when it cannot be loaded, which is said. */
  private async load<Tool>(load: () => Promise<Tool>): Promise<Tool | undefined> {
    this.styles ??= loadStyles();
    try {
      const [tool] = await Promise.all([load(), this.styles]);
      return tool;
    } catch {
      this.styles = undefined;
      const { toasts, locale } = this.parts;
      toasts.show(locale.t("toolFailed"), "bad");
      return undefined;
    }
  }
}

/** Loads the style sheet of the tools, which lies beside the script. */
function loadStyles(): Promise<void> {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = new URL("tools.css", import.meta.url).href;
  return new Promise((resolve, reject) => {
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => {
      link.remove();
      reject(new Error("the styles could not be loaded"));
    });
    document.head.append(link);
  });
}
