/** What the XML of a map consists of. It is ours: texts of users in it are escaped, so its elements are where they seem to be. */
export interface MapXml {
  /** The map with its styles, without layers. */
  readonly styles: string;
  /** The map without styles, with its layers; those of `sources` lack their datasource. */
  readonly layers: string;
  /** By layer, from the bottom: the element of its datasource if layers may share that, else undefined. */
  readonly sources: readonly (string | undefined)[];
}

const datasource = /<Datasource>.*?<\/Datasource>/s;
/** Only those of PostGIS may be used by several renders at once. */
const shared = '<Parameter name="type">postgis</Parameter>';

/** Takes the XML of a map apart, so that its datasources can be shared with other maps. */
export function takeApart(xml: string): MapXml {
  const [styles = "", ...rest] = xml.split(/(?=<Layer[ >])/);
  if (rest.length === 0) return { styles: xml, layers: "", sources: [] };
  const map = /<Map[^>]*>/.exec(styles)![0];
  const sources = rest.map((layer) => {
    const found = datasource.exec(layer)?.[0];
    return found?.includes(shared) ? found : undefined;
  });
  const layers = rest.map((layer, index) => (sources[index] ? layer.replace(datasource, "") : layer));
  return { styles: `${styles}</Map>`, layers: `${map}${layers.join("")}`, sources };
}
