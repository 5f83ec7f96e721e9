/** A layer of a map's XML. */
export interface LayerXml {
  readonly name: string;
  /** The element of its datasource, if maps may share that; else undefined. */
  readonly source: string | undefined;
}

/** What the XML of a map consists of. It is ours: texts of users in it are escaped, so its elements are where they seem to be. */
export interface MapXml {
  /** The map with its styles, without layers. */
  readonly styles: string;
  /** The map without styles, with its layers; those with a `source` lack their datasource. "" = it has none. */
  readonly layers: string;
  /** From the bottom to the top. */
  readonly parts: readonly LayerXml[];
}

const datasource = /<Datasource>.*?<\/Datasource>/s;
/** Only those of PostGIS may be used by several renders at once. */
const shared = '<Parameter name="type">postgis</Parameter>';

/** Takes the XML of a map apart, so that layers can be left out and datasources be shared. */
export function takeApart(xml: string): MapXml {
  const [styles = "", ...elements] = xml.split(/(?=<Layer[ >])/);
  if (elements.length === 0) return { styles: xml, layers: "", parts: [] };
  const map = /<Map[^>]*>/.exec(styles)![0];
  const parts = elements.map((element) => {
    const found = datasource.exec(element)?.[0];
    return {
      name: /name="([^"]*)"/.exec(element)?.[1] ?? "",
      source: found?.includes(shared) ? found : undefined,
    };
  });
  const layers = elements.map((element, index) =>
    parts[index]!.source ? element.replace(datasource, "") : element,
  );
  return { styles: `${styles}</Map>`, layers: `${map}${layers.join("")}`, parts };
}
