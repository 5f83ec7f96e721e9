/** The features of a layer, one after the other. */
export interface FeatureSource {
  /** Goes to the next feature. @returns whether there is one */
  next(): boolean;
  /** GDAL's number of the feature. */
  readonly id: number;
  /**
   * In the order of the layer's fields: numbers, texts, null, what JSON can hold; whole numbers of 64 bits and times as text.
   * Valid until the next feature. @throws BadFeature
   */
  values(): readonly unknown[];
  /** Little-endian ISO WKB, valid until the next feature; undefined when there is none. @throws BadFeature */
  geometry(): Buffer | undefined;
  close(): void;
}
