import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";

/**
 * The built-in pages as they are sent: one script for each page, the viewer's tools, and what is worth it compressed ahead,
 * under the hash of its bytes.
 */

const modules = "dist/src/viewer/browser";
const styles = "src/viewer/static";
const scripts = "dist/src/viewer/scripts";
const packed = "dist/src/viewer/packed";
/** Below this it would not save a packet. */
const leastBytes = 1_400;

const options = { bundle: true, minify: true, format: "esm", target: "es2022", logLevel: "warning" };

/** What the viewer uses of Leaflet, by its modules: a fifth of the library is left out, as much as some tiles on a slow line. */
const leafletParts = {
  "core/Browser": "{ default as Browser }",
  "dom/DomEvent": "* as DomEvent",
  "geo/LatLng": "{ LatLng, toLatLng as latLng }",
  "geo/LatLngBounds": "{ toLatLngBounds as latLngBounds }",
  "geometry/Point": "{ toPoint as point }",
  "layer/FeatureGroup": "{ FeatureGroup, featureGroup }",
  "layer/GeoJSON": "{ geoJSON }",
  "layer/marker/DivIcon": "{ divIcon }",
  "layer/marker/Marker": "{ Marker, marker }",
  "layer/tile/TileLayer": "{ TileLayer }",
  "layer/vector/Circle": "{ Circle, circle }",
  "layer/vector/CircleMarker": "{ CircleMarker, circleMarker }",
  "layer/vector/Polygon": "{ Polygon, polygon }",
  "layer/vector/Polyline": "{ Polyline, polyline }",
  "map/Map": "{ Map, createMap as map }",
};
/** Those that add themselves to others. */
const leafletAdditions = [
  "layer/vector/Renderer.getRenderer",
  ...["BoxZoom", "DoubleClickZoom", "Drag", "Keyboard", "ScrollWheelZoom", "TapHold", "TouchZoom"].map(
    (name) => `map/handler/Map.${name}`,
  ),
];
const leafletModules = {
  leaflet: 'import * as parts from "leaflet-parts"; globalThis.L = parts;',
  "leaflet-parts": [
    "/*! Leaflet, (c) 2010-2023 Vladimir Agafonkin, (c) 2010-2011 CloudMade, https://leafletjs.com, BSD-2-Clause */",
    ...leafletAdditions.map((path) => `import "leaflet/src/${path}.js";`),
    ...Object.entries(leafletParts).map(([path, names]) => `export ${names} from "leaflet/src/${path}.js";`),
  ].join("\n"),
};
const leaflet = {
  name: "Leaflet",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^leaflet(?:-parts)?$/ }, ({ path }) => ({ path, namespace: "leaflet" }));
    onLoad({ filter: /./, namespace: "leaflet" }, ({ path }) => ({
      contents: leafletModules[path],
      resolveDir: process.cwd(),
    }));
  },
};

/** The licences of the packages that are in a bundle, as a comment; each text once. */
function licencesOf({ inputs }) {
  const folders = new Set(
    Object.keys(inputs).flatMap((path) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
  );
  const byText = new Map();
  for (const folder of [...folders].sort()) {
    const text = readFileSync(join(folder, "LICENSE"), "utf8").trim();
    byText.set(text, [...(byText.get(text) ?? []), folder.replace("node_modules/", "")]);
  }
  const notices = [...byText].map(([text, names]) => `${names.join(", ")}:\n\n${text}`);
  return `/*!\n${notices.join("\n\n")}\n*/\n`;
}

/**
 * Puts the modules of the viewer into one file, and its tools, which are loaded when they are opened, into files of their own;
 * so are the texts in each language, of which a page needs one.
 * The tools have copies of the few small modules that they share with the viewer: split off, these would be one more file to
 * wait for before the map is shown.
 */
export async function bundlePages() {
  rmSync(scripts, { recursive: true, force: true });
  const tools = join(modules, "tools");
  const opened = readFileSync(join(modules, "tools.js"), "utf8").matchAll(
    /import\("\.\/tools\/([\w-]+\.js)"\)/g,
  );
  await build({
    ...options,
    entryPoints: [join(modules, "app.js")],
    outfile: join(scripts, "app.js"),
    external: ["./tools/*", "./texts/*", "./choose-password.js"],
    plugins: [leaflet],
  });
  await build({
    ...options,
    entryPoints: [join(modules, "choose-password.js")],
    outfile: join(scripts, "choose-password.js"),
  });
  await build({
    ...options,
    entryPoints: [join(modules, "console", "app.js")],
    outfile: join(scripts, "console.js"),
    external: ["./texts/*", "./objects/*", "./carto/*", "./people/*", "./reading/*", "./qr-code.js"],
    plugins: [leaflet],
  });
  // What edits objects, what is for people and keys, and what tells how files are read is loaded when it is opened, as tools are.
  for (const part of ["objects/editor", "people/people", "reading/dialog"])
    await build({
      ...options,
      entryPoints: [join(modules, "console", `${part}.js`)],
      outdir: join(scripts, dirname(part)),
      splitting: true,
      chunkNames: "shared-[hash]",
    });
  // So is what edits CartoCSS, and what draws QR codes: by packages of others.
  for (const part of ["carto/editor.js", "qr-code.js"]) {
    const outfile = join(scripts, part);
    const entryPoints = [join(modules, "console", part)];
    const { metafile } = await build({ ...options, entryPoints, outfile, metafile: true });
    writeFileSync(outfile, licencesOf(metafile) + readFileSync(outfile, "utf8"));
  }
  // A part of the page itself, from which it names other files.
  await build({
    ...options,
    entryPoints: [join(modules, "early.js")],
    outfile: join(scripts, "early.js"),
    // Its names are its own.
    banner: { js: "(()=>{" },
    footer: { js: "})();" },
    plugins: [
      {
        name: "named from the page",
        setup: ({ onResolve }) =>
          onResolve({ filter: /^\.\/texts\// }, ({ path }) => ({
            path: path.replace("./", "./viewer/build/"),
            external: true,
          })),
      },
    ],
  });
  await build({
    ...options,
    entryPoints: ["viewer", "tools", "console", "objects", "people", "reading"].map((name) =>
      join(styles, `${name}.css`),
    ),
    outdir: scripts,
    external: ["images/*"],
  });
  const texts = join(modules, "texts");
  await build({
    ...options,
    charset: "utf8",
    entryPoints: readdirSync(texts)
      .filter((name) => name.endsWith(".js"))
      .map((name) => join(texts, name)),
    outdir: join(scripts, "texts"),
  });
  await build({
    ...options,
    entryPoints: [...opened].map(([, name]) => join(tools, name)),
    outdir: join(scripts, "tools"),
    splitting: true,
    chunkNames: "shared-[hash]",
  });
}

/** The script of the documentation, beside its pages. */
export async function bundleDocs() {
  await build({
    ...options,
    entryPoints: ["dist/src/docs/browser/docs.js"],
    outfile: "dist/src/docs/site/files/docs.js",
  });
}

/** Compresses the files of the pages that dist has. */
export async function packPages() {
  const [{ loadViewerFiles }, { loadApiPageFiles }, { loadDocumentation }] = await Promise.all([
    import("../../dist/src/viewer/files.js"),
    import("../../dist/src/viewer/api-page.js"),
    import("../../dist/src/docs/documentation.js"),
  ]);
  const viewer = loadViewerFiles();
  const documentation = loadDocumentation();
  const files = [
    ...[viewer.index, viewer.console, ...viewer.files.values(), ...loadApiPageFiles().files.values()],
    ...[...documentation.files.values(), ...documentation.pages.values()],
  ];
  mkdirSync(packed, { recursive: true });
  const kept = new Set();
  for (const { body, hash, type } of files) {
    if (body.length < leastBytes || /^image\/(?!svg)/.test(type)) continue;
    const name = `${hash}.br`;
    kept.add(name);
    const path = join(packed, name);
    if (existsSync(path)) continue;
    writeFileSync(
      path,
      brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }),
    );
  }
  for (const name of readdirSync(packed)) if (!kept.has(name)) rmSync(join(packed, name));
}
