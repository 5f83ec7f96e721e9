import { type DraftKind, type DraftStorage, KeptDrafts } from "./kept-drafts.js";

/** Who works on the layers, and where. */
export interface DraftOwner {
  readonly login: string;
  readonly project: string;
}

export interface LayerDraft<Value> {
  readonly value: Value;
  /** What the layer had when it was written, or last looked at. */
  readonly base: string;
}

/** Something of layers that is not saved, one for each layer. Does not depend on the DOM. */
export class LayerDrafts<Value> {
  private readonly kept: KeptDrafts<LayerDraft<Value>>;

  constructor(
    private readonly kind: DraftKind<LayerDraft<Value>>,
    private readonly owner: () => DraftOwner,
    storage: DraftStorage | undefined,
  ) {
    this.kept = new KeptDrafts(kind, storage);
  }

  /** Whether some of them would be lost with the page. */
  get isUnsafe(): boolean {
    return this.kept.isUnsafe;
  }

  /** undefined = it is as it was saved */
  of(layerId: number): LayerDraft<Value> | undefined {
    return this.kept.of(this.nameOf(layerId));
  }

  set(layerId: number, draft: LayerDraft<Value>): void {
    this.kept.put(this.nameOf(layerId), draft);
  }

  discard(layerId: number): void {
    this.kept.remove(this.nameOf(layerId));
  }

  /** Discards the draft of a layer. @returns brings it back, if there is no other by then */
  putAside(layerId: number): () => void {
    const draft = this.of(layerId);
    this.discard(layerId);
    return () => {
      if (draft && !this.of(layerId)) this.set(layerId, draft);
    };
  }

  /** From here on a draft is meant for a layer that has this. */
  rebase(layerId: number, base: string): void {
    const draft = this.of(layerId);
    if (draft && draft.base !== base) this.set(layerId, { ...draft, base });
  }

  /** Another tab has written something. @param open layer whose draft is looked at here, and stays */
  heard(name: string, text: string | null, open: number | undefined): void {
    const isOpen = open !== undefined && name === this.nameOf(open);
    if (name.startsWith(this.kind.prefix) && !isOpen) this.kept.heard(name, text);
  }

  private nameOf(layerId: number): string {
    const { login, project } = this.owner();
    return `${this.kind.prefix}${JSON.stringify([login, project, layerId])}`;
  }
}
