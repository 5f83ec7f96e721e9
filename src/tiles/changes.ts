/** What a write touched, by ids. */
export interface Touched {
  readonly projects?: readonly number[];
  readonly maps?: readonly number[];
  /** Layers whose objects changed. */
  readonly layers?: readonly number[];
}

/** Knowledge of what changed, on this node and the others. */
export interface Changes {
  /**
   * Called after a write was committed and before its answer is sent: returns when this node, and every other node
   * that can be reached, will not answer with what was before.
   */
  settle(touched: Touched): Promise<void>;
}
