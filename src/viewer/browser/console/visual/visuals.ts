import type { TreeItem } from "../../layer-tree.js";
import type { MapId, MapServer } from "../../map-server.js";
import { LayerObjects } from "../../tools/layer-objects.js";
import { Conflict, changeRead } from "../conflict.js";
import type { Edits } from "../edits.js";
import { signatureOf, type Visual } from "./settings.js";

/** A layer, as far as it is drawn by a visualization. */
interface Drawn {
  readonly visualSettings?: Visual | null;
}

/** Values of a column of which it is shown how they are spread. */
const mostValues = 20_000;

/** Visualizations of layers at the server. All throw ServerError. */
export class Visuals {
  constructor(
    private readonly edits: Edits,
    private readonly server: MapServer,
  ) {}

  /** The settings with what the server adds to them: classes, their borders and counts. */
  async tried({ project, map }: MapId, { element }: TreeItem, settings: Visual): Promise<Visual> {
    const answer = await this.edits.send<Drawn>(
      project,
      "PUT",
      [map, "layers", element.code, "visualization"],
      {
        body: { visualSettings: settings },
        query: { dry_run: 1 },
      },
    );
    return answer.visualSettings ?? settings;
  }

  /**
   * @param settings undefined = none
   * @param base by `signatureOf`, of what the layer had when they were begun @throws Conflict
   */
  async save(
    { project, map }: MapId,
    { element }: TreeItem,
    settings: Visual | undefined,
    base: string,
  ): Promise<Visual | undefined> {
    const layer = [map, "layers", element.code];
    const read = async () => {
      const now = await this.edits.read<Drawn>(project, layer);
      const is = signatureOf(now.value.visualSettings ?? undefined);
      if (is !== base && is !== signatureOf(settings)) throw new Conflict("conflictStyle");
      return now;
    };
    const { visualSettings } = await changeRead(read, (_now, match) =>
      settings
        ? this.edits.send<Drawn>(project, "PUT", [...layer, "visualization"], {
            body: { visualSettings: settings },
            match,
          })
        : this.edits.send<Drawn>(project, "DELETE", [...layer, "visualization"], { match }),
    );
    return visualSettings ?? undefined;
  }

  async values(
    mapId: MapId,
    { element }: TreeItem,
    code: string,
    signal: AbortSignal,
  ): Promise<readonly unknown[]> {
    const objects = new LayerObjects(this.server, mapId, element.code, []);
    const everything = { filter: undefined, fbbox: undefined };
    return (await objects.column(everything, code, mostValues, signal)).values;
  }
}
