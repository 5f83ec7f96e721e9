interface Draft {
  readonly css: string;
  /** What the layer had when it was written, or last looked at. */
  readonly base: string;
}

/** Texts of styles that are not saved, by layer. Does not depend on the DOM. */
export class StyleDrafts {
  private readonly drafts = new Map<number, Draft>();

  get isEmpty(): boolean {
    return this.drafts.size === 0;
  }

  /** undefined = it is as it was saved */
  of(layerId: number): string | undefined {
    return this.drafts.get(layerId)?.css;
  }

  /** @param saved what the layer has */
  set(layerId: number, css: string, saved: string): void {
    if (css === saved) this.drafts.delete(layerId);
    else this.drafts.set(layerId, { css, base: this.drafts.get(layerId)?.base ?? saved });
  }

  discard(layerId: number): void {
    this.drafts.delete(layerId);
  }

  /** From here on a draft is meant for a layer that has this. */
  rebase(layerId: number, base: string): void {
    const draft = this.drafts.get(layerId);
    if (draft) this.drafts.set(layerId, { ...draft, base });
  }

  /** Whether the layer has something else than when its draft was written. @param saved what it has */
  isOvertaken(layerId: number, saved: string): boolean {
    const draft = this.drafts.get(layerId);
    return draft !== undefined && draft.base !== saved && draft.css !== saved;
  }

  /** It is saved. What was written meanwhile is the next draft. */
  saved(layerId: number, css: string): void {
    if (this.drafts.get(layerId)?.css === css) this.drafts.delete(layerId);
  }
}
