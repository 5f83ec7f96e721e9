import type gdal from "gdal-async";

const results = new WeakMap<gdal.Dataset, gdal.Layer[]>();

/**
 * The result of SQL in that dialect; by default that of the database. It is kept as long as the dataset: the binding frees a
 * result that nobody holds at any time, and waits for ever if the dataset is being read then.
 */
export function query(dataset: gdal.Dataset, sql: string, dialect?: string): gdal.Layer {
  const layer = dataset.executeSQL(sql, undefined, dialect);
  const kept = results.get(dataset);
  if (kept) kept.push(layer);
  else results.set(dataset, [layer]);
  return layer;
}
