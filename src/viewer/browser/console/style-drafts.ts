import type { DraftStorage } from "./kept-drafts.js";
import { type DraftOwner, LayerDrafts } from "./layer-drafts.js";

/** Texts of styles that are not saved. Does not depend on the DOM. */
export class StyleDrafts {
  private readonly drafts: LayerDrafts<string>;

  constructor(owner: () => DraftOwner, storage: DraftStorage | undefined) {
    const isDraft = ({ value, base }: { value?: unknown; base?: unknown }) =>
      typeof value === "string" && typeof base === "string";
    this.drafts = new LayerDrafts<string>({ prefix: "mapwright.style:", isDraft }, owner, storage);
  }

  /** Whether some of them would be lost with the page. */
  get isUnsafe(): boolean {
    return this.drafts.isUnsafe;
  }

  /** undefined = it is as it was saved */
  of(layerId: number): string | undefined {
    return this.drafts.of(layerId)?.value;
  }

  /** @param saved what the layer has */
  set(layerId: number, css: string, saved: string): void {
    if (css === saved) this.discard(layerId);
    else this.drafts.set(layerId, { value: css, base: this.drafts.of(layerId)?.base ?? saved });
  }

  discard(layerId: number): void {
    this.drafts.discard(layerId);
  }

  /** As `LayerDrafts.putAside`. */
  putAside(layerId: number): () => void {
    return this.drafts.putAside(layerId);
  }

  /** From here on a draft is meant for a layer that has this. */
  rebase(layerId: number, base: string): void {
    this.drafts.rebase(layerId, base);
  }

  /** Whether the layer has something else than when its draft was written. @param saved what it has */
  isOvertaken(layerId: number, saved: string): boolean {
    const draft = this.drafts.of(layerId);
    return draft !== undefined && draft.base !== saved && draft.value !== saved;
  }

  /** Whether a draft says something else than the layer has: the page may have been closed before it heard that it is saved. */
  isChanged(layerId: number, saved: string): boolean {
    const css = this.of(layerId);
    return css !== undefined && css !== saved;
  }

  /** It is saved. What was written meanwhile is the next draft. */
  saved(layerId: number, css: string): void {
    if (this.of(layerId) === css) this.discard(layerId);
  }

  /** Another tab has written something. @param open layer whose style is looked at here */
  heard(name: string, text: string | null, open: number | undefined): void {
    this.drafts.heard(name, text, open);
  }
}
