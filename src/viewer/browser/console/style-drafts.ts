/** Texts of styles that are not saved, by layer. Does not depend on the DOM. */
export class StyleDrafts {
  private readonly texts = new Map<number, string>();

  get isEmpty(): boolean {
    return this.texts.size === 0;
  }

  /** undefined = it is as it was saved */
  of(layerId: number): string | undefined {
    return this.texts.get(layerId);
  }

  /** @param saved what the layer has */
  set(layerId: number, css: string, saved: string): void {
    if (css === saved) this.texts.delete(layerId);
    else this.texts.set(layerId, css);
  }

  discard(layerId: number): void {
    this.texts.delete(layerId);
  }

  /** It is saved. What was written meanwhile is the next draft. */
  saved(layerId: number, css: string): void {
    if (this.texts.get(layerId) === css) this.texts.delete(layerId);
  }
}
