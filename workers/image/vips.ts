import sharp from "sharp";

/**
 * libvips with only the loaders that are needed: four image formats from files, those of raster services from buffers, and
 * SVG from buffers that the server made.
 */

sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({
  operation: [
    "VipsForeignLoadPngFile",
    "VipsForeignLoadJpegFile",
    "VipsForeignLoadNsgifFile",
    "VipsForeignLoadWebpFile",
    "VipsForeignLoadPngBuffer",
    "VipsForeignLoadJpegBuffer",
    "VipsForeignLoadWebpBuffer",
    "VipsForeignLoadSvgBuffer",
  ],
});
// Results are cached by the server process. Tasks run in parallel, so each gets one thread.
sharp.cache(false);
sharp.concurrency(1);

export { sharp };
