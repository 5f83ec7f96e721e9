import { columnOf, rowOf } from "../mercator.js";
import { type TilePost, type TileSource, tileAddress } from "../tile-source.js";
import { askTile } from "../tiles.js";

/** After the last change. */
const pauseMs = 350;

/**
 * A style or visualization that is tried: tiles are drawn by it, and nothing is saved. One that the server refuses is not shown, which is told
 * where it is written.
 */
export class Trial {
  private post: TilePost | undefined;
  private layerId: number | undefined;
  private timer = 0;
  private asking = new AbortController();

  /** @param changed tiles are shown by something else */
  constructor(private readonly changed: () => void) {}

  /** For a source of tiles. */
  get shown(): { readonly post?: TilePost } {
    return this.post ? { post: this.post } : {};
  }

  begin(
    { source, map, layerId }: { readonly source: TileSource; readonly map: L.Map; readonly layerId: number },
    post: TilePost,
  ): void {
    this.stop();
    this.layerId = layerId;
    if (this.post?.path === post.path && this.post.body === post.body) return;
    this.timer = window.setTimeout(() => {
      const { signal } = this.asking;
      const z = Math.round(map.getZoom());
      const { lat, lng } = map.getCenter();
      const x = Math.floor(columnOf(lng, 2 ** z));
      const y = Math.floor(rowOf(lat, 2 ** z));
      const url = tileAddress({ ...source, post }, { x, y, z });
      const ask = async () => {
        const answer = await askTile(url, signal, post);
        await answer.blob();
        if (!answer.ok || signal.aborted) return;
        this.post = post;
        this.changed();
      };
      ask().catch(() => undefined); // the next change tries again
    }, pauseMs);
  }

  /** @param layerId only if it is of this layer */
  end(layerId?: number): void {
    if (layerId !== undefined && layerId !== this.layerId) return;
    this.stop();
    if (!this.post) return;
    this.post = undefined;
    this.changed();
  }

  private stop(): void {
    window.clearTimeout(this.timer);
    this.asking.abort();
    this.asking = new AbortController();
  }
}
