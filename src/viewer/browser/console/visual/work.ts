import type { TreeItem } from "../../layer-tree.js";
import type { MapId } from "../../map-server.js";
import type { Translate } from "../../texts.js";
import type { DraftStorage } from "../kept-drafts.js";
import { type DraftOwner, LayerDrafts } from "../layer-drafts.js";
import { readForm, type SymbolKind } from "../style-form.js";
import {
  betterColumn,
  type Column,
  hasClasses,
  isApart,
  isVisual,
  signatureOf,
  type Visual,
  withColumn,
} from "./settings.js";
import { VisualView } from "./view.js";

/** Visualizations as they are worked on: drafts until they are saved, completed by the server, which knows the values. */

export interface VisualEvents {
  /** The settings as the server would have them. @throws ServerError */
  tried(item: TreeItem, settings: Visual): Promise<Visual>;
  /** @param base of what the layer had when the draft was begun @returns what it has then @throws ServerError */
  save(mapId: MapId, item: TreeItem, settings: Visual | undefined, base: string): Promise<Visual | undefined>;
  /** Shows the layer so; undefined = as it is saved. */
  preview(item: TreeItem, body: object | undefined): void;
  /** Some values of a column. @throws ServerError, AbortError */
  values(item: TreeItem, code: string, signal: AbortSignal): Promise<readonly unknown[]>;
  /** There is a draft, or none any more. */
  changed(): void;
  failed(item: TreeItem, error: unknown): void;
}

/** After the last change. */
const pauseMs = 250;

export const savedVisual = ({ element }: TreeItem): Visual | undefined =>
  (element.visualSettings as Visual | null | undefined) ?? undefined;

export class VisualWork {
  private readonly view: VisualView;
  /** Without a value: no visualization. Their base is the signature of what the layer had. */
  private readonly drafts: LayerDrafts<Visual | undefined>;
  private item: TreeItem | undefined;
  private columns: readonly Column[] = [];
  private values: { readonly key: string; readonly list: readonly unknown[] } | undefined;
  private reading: { readonly key: string; readonly ended: AbortController } | undefined;
  private timer = 0;
  /** Columns that were tried while the user has chosen none, and what the server said of the first; undefined = one is chosen. */
  private guess: { readonly tried: readonly string[]; readonly first: Visual | undefined } | undefined;
  /** Number of the latest change: answers for older ones are let go. */
  private latest = 0;
  /** Id of the layer whose visualization is being saved. */
  private saving: number | undefined;
  /** The server is asked one thing at a time: of large layers it has to look at all objects. */
  private trying: Promise<void> = Promise.resolve();

  constructor(
    t: Translate,
    language: string,
    private readonly events: VisualEvents,
    owner: () => DraftOwner,
    storage: DraftStorage | undefined,
  ) {
    const isDraft = ({ value, base }: { value?: unknown; base?: unknown }) =>
      typeof base === "string" && (value === undefined || isVisual(value));
    this.drafts = new LayerDrafts<Visual | undefined>(
      { prefix: "mapwright.visual:", isDraft },
      owner,
      storage,
    );
    this.view = new VisualView(t, language, (settings, isGuess) => this.change(settings, isGuess));
  }

  get element(): HTMLElement {
    return this.view.element;
  }

  /** Whether a draft would be lost with the page. */
  get isUnsafe(): boolean {
    return this.drafts.isUnsafe;
  }

  hasDraft({ layerId }: TreeItem): boolean {
    return this.drafts.of(layerId) !== undefined;
  }

  /** Whether a draft says something else than the layer has, as `StyleDrafts.isChanged`. */
  isChanged(item: TreeItem): boolean {
    const draft = this.drafts.of(item.layerId);
    return draft !== undefined && signatureOf(draft.value) !== signatureOf(savedVisual(item));
  }

  /** Whether somebody else has saved something else since the draft was begun. */
  isOvertaken(item: TreeItem): boolean {
    // What is being saved comes by the tree before the answer is here.
    if (this.saving === item.layerId) return false;
    const draft = this.drafts.of(item.layerId);
    const saved = signatureOf(savedVisual(item));
    return draft !== undefined && draft.base !== saved && signatureOf(draft.value) !== saved;
  }

  /** From here on the draft is meant for what the layer has. */
  rebase(item: TreeItem): void {
    this.drafts.rebase(item.layerId, signatureOf(savedVisual(item)));
  }

  show(item: TreeItem | undefined, columns: readonly Column[]): void {
    this.item = item;
    this.columns = columns;
    this.render();
  }

  discard({ layerId }: TreeItem): void {
    this.stop();
    this.drafts.discard(layerId);
  }

  /** As `LayerDrafts.putAside`. */
  putAside({ layerId }: TreeItem): () => void {
    if (layerId === this.item?.layerId) this.stop();
    return this.drafts.putAside(layerId);
  }

  /** Another tab has written something. @param open layer whose draft is looked at here */
  heard(name: string, text: string | null, open: number | undefined): void {
    this.drafts.heard(name, text, open);
  }

  /** @throws ServerError */
  async save(mapId: MapId, item: TreeItem): Promise<void> {
    const draft = this.drafts.of(item.layerId);
    if (!draft) return;
    this.stop();
    const { value: settings, base } = draft;
    this.saving = item.layerId;
    try {
      const saved = await this.events.save(mapId, item, settings, base);
      // What was changed meanwhile is the next draft.
      const now = this.drafts.of(item.layerId);
      if (now?.value === settings) this.drafts.discard(item.layerId);
      else this.drafts.rebase(item.layerId, signatureOf(saved));
    } finally {
      this.saving = undefined;
    }
  }

  /** Shows the draft on the map, if there is one. */
  preview(item: TreeItem): void {
    const draft = this.drafts.of(item.layerId);
    if (draft) this.events.preview(item, bodyOf(draft.value, item));
  }

  private get settings(): Visual | undefined {
    if (!this.item) return undefined;
    const draft = this.drafts.of(this.item.layerId);
    return draft ? draft.value : savedVisual(this.item);
  }

  /** Lets go what is being asked. The drafts stay. */
  stop(): void {
    window.clearTimeout(this.timer);
    this.latest += 1;
  }

  private change(settings: Visual | undefined, isGuess: boolean): void {
    const { item } = this;
    if (!item) return;
    this.stop();
    const code = isGuess ? settings?.columnCode : undefined;
    this.guess = code ? { tried: [code], first: undefined } : undefined;
    const saved = savedVisual(item);
    const base = this.drafts.of(item.layerId)?.base ?? signatureOf(saved);
    const isSaved = settings === undefined && saved === undefined && this.saving !== item.layerId;
    if (isSaved) this.drafts.discard(item.layerId);
    else this.drafts.set(item.layerId, { value: settings, base });
    this.events.changed();
    this.render();
    const number = this.latest;
    this.timer = window.setTimeout(() => {
      this.trying = this.trying.then(() => this.complete(item, number));
    }, pauseMs);
  }

  private async complete(item: TreeItem, number: number): Promise<void> {
    if (number !== this.latest) return;
    const draft = this.drafts.of(item.layerId);
    if (!draft) {
      this.events.preview(item, undefined);
      return;
    }
    try {
      let settings = draft.value && (await this.events.tried(item, draft.value));
      // Another layer's, or one that was saved or discarded meanwhile.
      const now = this.drafts.of(item.layerId);
      if (number !== this.latest || !now || now.value !== draft.value) return;
      if (settings && this.guess) {
        const { tried, first = settings } = this.guess;
        const better = betterColumn(settings, this.columns, tried);
        if (better) {
          this.guess = { tried: [...tried, better.code], first };
          this.drafts.set(item.layerId, { ...now, value: withColumn(draft.value!, better) });
          return this.complete(item, number);
        }
        // None is better: the first one says most.
        if (isApart(settings)) settings = first;
        this.guess = undefined;
      }
      if (settings) {
        // What the draft is meant for may have changed meanwhile.
        this.drafts.set(item.layerId, { ...now, value: settings });
        this.render();
      }
      this.events.preview(item, bodyOf(settings, item));
    } catch (error) {
      if (number === this.latest) this.events.failed(item, error);
    }
  }

  private render(): void {
    if (this.element.hidden) return;
    const { item, settings, columns } = this;
    const code = settings && hasClasses(settings) ? (settings.columnCode ?? undefined) : undefined;
    const key = item && code !== undefined ? `${item.layerId} ${code}` : undefined;
    const values = this.values?.key === key ? this.values?.list : undefined;
    const shapes = shapesOf(item?.element.css_style ?? "");
    this.view.show({ of: item?.layerId, settings, columns, shapes, values });
    if (item && code !== undefined && key !== undefined && !values) void this.read(item, code, key);
  }

  private async read(item: TreeItem, code: string, key: string): Promise<void> {
    if (this.reading?.key === key) return;
    this.reading?.ended.abort();
    const ended = new AbortController();
    this.reading = { key, ended };
    const { signal } = ended;
    const list = await this.events.values(item, code, signal).catch(() => []); // the classes are shown without it
    if (signal.aborted) return;
    this.reading = undefined;
    this.values = { key, list };
    this.render();
  }
}

/** Of a style that the form cannot read all may be there. */
const shapesOf = (css: string): ReadonlySet<SymbolKind> =>
  new Set(readForm(css)?.symbols.map(({ kind }) => kind) ?? ["point", "line", "polygon"]);

const bodyOf = (settings: Visual | undefined, { element }: TreeItem): object =>
  settings ? { visualSettings: settings } : { css_style: element.css_style ?? "" };
