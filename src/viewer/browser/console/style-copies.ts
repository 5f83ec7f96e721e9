import { hasObjects, isWholeMap, type TreeItem } from "../layer-tree.js";
import { isServerError, type MapId, type MapServer } from "../map-server.js";
import type { Translate } from "../texts.js";
import { Conflict } from "./conflict.js";
import type { Edits } from "./edits.js";
import type { MapEdits } from "./map-edits.js";
import { problemText } from "./problem.js";
import { styleFor } from "./style-for.js";
import type { StylePanel } from "./style-panel.js";
import { settingsForOther } from "./visual/other-layer.js";
import { type Column, signatureOf, type Visual } from "./visual/settings.js";
import type { Visuals } from "./visual/visuals.js";
import { savedVisual } from "./visual/work.js";

/** How one layer looks, given to others. */

/** How a layer looked when it was copied. */
export interface CopiedStyle {
  readonly of: TreeItem;
  readonly css: string;
  readonly visual: Visual | undefined;
  /** Of the layer, where it has a visualization. */
  readonly columns: readonly Column[];
}

export interface Pasted {
  readonly item: TreeItem;
  /** What of the style the layer cannot have. */
  readonly notes: readonly string[];
  /** Gives the layer what it had. @throws ServerError, Conflict */
  readonly undo: () => Promise<void>;
}

export interface StyleCopiesParts {
  readonly t: Translate;
  readonly edits: Edits;
  readonly server: MapServer;
  readonly changes: MapEdits;
  readonly visuals: Visuals;
  readonly drafts: Pick<StylePanel, "putAside">;
}

/** Objects look like objects, and images like images. What a plug-in draws the console does not know. */
function lookOf(item: TreeItem): "objects" | "image" | undefined {
  const { element, isFolder } = item;
  if (isFolder || isWholeMap(item) || element.visualCustomSettings) return undefined;
  return hasObjects(item) ? "objects" : "image";
}

/** Whether a layer has a style that others can get. */
export const hasStyle = (item: TreeItem): boolean => lookOf(item) !== undefined;

/** Of settings that do not suit the layer. */
const refusals: ReadonlySet<string | undefined> = new Set(["invalid_value", "unknown_column"]);
const isRefused = (error: unknown): boolean => isServerError(error) && refusals.has(error.code);

/** The style that was copied last, for as long as the page is open. */
export class StyleCopies {
  private last: CopiedStyle | undefined;

  constructor(private readonly parts: StyleCopiesParts) {}

  get copied(): CopiedStyle | undefined {
    return this.last;
  }

  /** Copies how a layer looks, as it is saved. @throws ServerError */
  async copy(mapId: MapId, item: TreeItem): Promise<void> {
    const visual = savedVisual(item);
    const columns = visual ? await this.columns(mapId, item) : [];
    this.last = { of: item, css: item.element.css_style ?? "", visual, columns };
  }

  /** Whether a layer can look so. */
  fits(item: TreeItem): boolean {
    const look = lookOf(item);
    return this.last !== undefined && look !== undefined && look === lookOf(this.last.of);
  }

  /** @param item as the user has seen it @throws ServerError; Conflict when it looks otherwise by now */
  async paste(mapId: MapId, item: TreeItem, { of, css, visual, columns }: CopiedStyle): Promise<Pasted> {
    const { t, changes, drafts } = this.parts;
    const names = { name: item.title, from: of.title };
    const before = { css: item.element.css_style ?? "", visual: savedVisual(item) };
    const given = styleFor(css, of.element.code, item.element.code);
    const other = visual && settingsForOther(visual, columns, await this.columns(mapId, item));
    const notes = other?.missing.length
      ? [
          t(other.settings ? "pasteNoLabel" : "pasteNoColumn", {
            ...names,
            columns: other.missing.join(", "),
          }),
        ]
      : [];
    notes.push(...(await this.told(item, () => changes.style(mapId, item, given))));
    // The draft was meant for what the layer had.
    const bringBack = drafts.putAside(item);
    let drawn: Visual | undefined;
    try {
      drawn = await this.drawn(mapId, item, other?.settings, before.visual);
    } catch (error) {
      if (!isRefused(error)) throw error;
      notes.push(t("pasteRefused", names), problemText(error, t));
      drawn = await this.drawn(mapId, item, undefined, before.visual);
    }
    const undo = async () => {
      const pasted = { ...item, element: { ...item.element, css_style: given } };
      await this.told(item, () => changes.style(mapId, pasted, before.css));
      await this.drawn(mapId, item, before.visual, drawn);
      bringBack();
    };
    return { item, notes, undo };
  }

  /** Gives a layer the visualization. @param before the one that it has */
  private async drawn(
    mapId: MapId,
    item: TreeItem,
    settings: Visual | undefined,
    before: Visual | undefined,
  ): Promise<Visual | undefined> {
    const base = signatureOf(before);
    if (signatureOf(settings) === base) return before;
    return this.told(item, () => this.parts.visuals.save(mapId, item, settings, base));
  }

  /** With words of its own for what others have changed. */
  private told<Result>({ title }: TreeItem, save: () => Promise<Result>): Promise<Result> {
    return save().catch((error: unknown) => {
      throw error instanceof Conflict ? new Conflict("conflictPaste", { name: title }) : error;
    });
  }

  private columns({ project, map }: MapId, { element }: TreeItem): Promise<readonly Column[]> {
    const { edits, server } = this.parts;
    return edits.inSession(project, () => server.structure({ project, map }, element.code));
  }
}
