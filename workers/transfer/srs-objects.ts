import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type gdal from "gdal-async";

/**
 * Spatial references as objects of gdal-async. It finds its object for one of GDAL's by the address, and that of a layer is
 * freed with the dataset while the object, which holds a copy, lives on. What gets the address next, a reference that is
 * made or that of another layer, is then taken for the old one (`SpatialReference::New` of gdal_spatial_reference.cpp).
 * Coordinates would be transformed from a system that is not theirs, without an error.
 */

/** The objects that there have been, with the dataset of those that came with one. */
const known = new WeakMap<gdal.SpatialReference, gdal.Dataset | undefined>();

/** Objects at addresses of freed references are few: each goes with the next garbage collection. */
const mostAttempts = 1_000;

/**
 * A spatial reference that is new.
 * @param make calls one of the functions of `gdal.SpatialReference` that make one
 * @throws what `make` throws
 */
export function newReference(make: () => gdal.SpatialReference): gdal.SpatialReference {
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const made = make();
    if (!known.has(made)) {
      known.set(made, undefined);
      return made;
    }
    // What was made is not found again, so it is never freed, and the next one has another address.
  }
  throw new Error("GDAL gives none but spatial references that there have been.");
}

/**
 * What `read` says of the spatial reference of a dataset or of one of its layers; undefined when it has none.
 * @param owner asked anew for each attempt
 */
export function readReference<T>(
  dataset: gdal.Dataset,
  owner: { readonly srs: gdal.SpatialReference | null },
  read: (srs: gdal.SpatialReference) => T,
): T | undefined {
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const answer = readOnce(dataset, owner, read);
    if (answer !== stale) return answer;
    collectGarbage();
  }
  throw new Error("GDAL does not tell the spatial reference of a layer.");
}

const stale = Symbol("stale");

/** A function of its own, so that the object can be collected when it has returned. */
function readOnce<T>(
  dataset: gdal.Dataset,
  owner: { readonly srs: gdal.SpatialReference | null },
  read: (srs: gdal.SpatialReference) => T,
): T | undefined | typeof stale {
  const { srs } = owner;
  if (!srs) return undefined;
  // Layers of one dataset may share a reference.
  if (known.has(srs) && known.get(srs) !== dataset) return stale;
  known.set(srs, dataset);
  return read(srs);
}

let gc: (() => void) | undefined;

function collectGarbage(): void {
  if (!gc) {
    setFlagsFromString("--expose-gc");
    gc = runInNewContext("gc") as () => void;
  }
  gc();
}
