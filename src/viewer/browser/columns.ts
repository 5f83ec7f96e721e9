import { type ColumnInfo, type MapId, type MapServer, ServerError } from "./map-server.js";

/** The columns of layers, each asked for once in a language. */
export class LayerColumns {
  private readonly asked = new Map<string, Promise<readonly ColumnInfo[]>>();
  private readonly answered = new Map<string, readonly ColumnInfo[]>();

  constructor(private readonly server: Pick<MapServer, "structure" | "lng">) {}

  /** The columns, if they have come. */
  known(mapId: MapId, layer: string): readonly ColumnInfo[] | undefined {
    return this.answered.get(this.keyOf(mapId, layer));
  }

  /** The columns; none when they could not be read, and the next time they are asked for again. */
  of(mapId: MapId, layer: string): Promise<readonly ColumnInfo[]> {
    const key = this.keyOf(mapId, layer);
    let columns = this.asked.get(key);
    if (!columns) {
      columns = this.server.structure(mapId, layer).then(
        (found) => {
          this.answered.set(key, found);
          return found;
        },
        (error: unknown) => {
          // 404 means that there are no titles.
          if (!(error instanceof ServerError && error.status === 404)) this.asked.delete(key);
          return [];
        },
      );
      this.asked.set(key, columns);
    }
    return columns;
  }

  /** Titles are in the language of the data. */
  private keyOf({ project, map }: MapId, layer: string): string {
    return JSON.stringify([project, map, layer, this.server.lng(project)]);
  }
}
