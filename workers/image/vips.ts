import sharp from "sharp";

/** libvips with only the readers that we need: pictures of four formats from files, and SVG from our own hands. */

sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({
  operation: [
    "VipsForeignLoadPngFile",
    "VipsForeignLoadJpegFile",
    "VipsForeignLoadNsgifFile",
    "VipsForeignLoadWebpFile",
    "VipsForeignLoadSvgBuffer",
  ],
});
// Each picture is made once and remembered elsewhere; tasks run beside each other, so one thread each is enough.
sharp.cache(false);
sharp.concurrency(1);

export { sharp };
