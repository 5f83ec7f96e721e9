import { mayRead, requireRead } from "../../access/rights.js";
import type { KeptText } from "../../catalog/kept-texts.js";
import { type LayerNode, localName, publicCaller } from "../../catalog/state.js";
import { busy, notFound } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import type { Classificator } from "../../visual/kind.js";
import { legendOf } from "../../visual/legend.js";
import { pluginOf } from "../../visual/plugins.js";
import { callerOrPublic } from "../request/caller.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath, viewOf } from "../request/paths.js";
import { answerKept, keptByNobody } from "../request/public-answers.js";
import { flag } from "../request/schema/parameters.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { hasStyledClasses, type StyledClasses, styledClasses, styleOf } from "./layer-symbols.js";
import { valueTexts } from "./legend-bounds.js";
import { legendTexts } from "./legend-texts.js";
import { generatedIconPath } from "./present.js";

/** Legends of layers: the classes of their visualizations, or the rules of their styles. */

const legendParameters = {
  extended: flag(
    "Whether layers without a visualization have a legend too, by the rules of their style, and each class the path of " +
      "its symbol and the zooms at which tiles show it.",
  ),
};

async function getLegend(
  request: Request,
  services: Services,
  { query }: Input<typeof legendParameters, undefined>,
): Promise<Reply> {
  const map = await services.catalog.map(request.params.project!, request.params.map!);
  const layer = map.layers.get(request.params.layer!);
  const isPublic = () => mayRead(map, publicCaller, layer);
  const caller = await callerOrPublic(request, services, map.project, isPublic, map);
  const view = viewOf(request, map.project);
  requireRead(map, caller);
  if (layer) requireRead(map, caller, layer);
  const { extended } = query();
  const main = map.project.languages[0];
  const { language } = view;
  const withIcons = (classificators: readonly Classificator[], zooms: StyledClasses["zooms"] = []) =>
    classificators.map((one, at) => ({
      ...one,
      icon: `${generatedIconPath(map, layer!, view)}?class=${at}`,
      minZoom: zooms[at]?.[0] ?? null,
      maxZoom: zooms[at]?.[1] ?? null,
    }));
  const by = ["legend", layer?.id, language, view.path, extended];
  // Numbers are written as in any language that is asked for: what is kept of those would push out all else.
  const isKept = map.project.languages.includes(language);
  const kept = async (of: readonly object[], make: () => string): Promise<KeptText> =>
    isKept
      ? services.texts.of({ of: [map, ...of], by }, make)
      : { body: Buffer.from(await services.slices.whole(`p${map.project.id}`, make)) };
  if (layer?.visualSettings) {
    const settings = layer.visualSettings;
    const values = await services.visuals.current(layer, map.project);
    const legend = await kept(values ? [values] : [], () => {
      const made = legendOf(layer, { settings, values }, { language, main, extended });
      if (!extended) return JSON.stringify(made);
      const { texts, ...titles } = legendTexts(layer, made, { own: language, main });
      const classificators = withIcons(made.classificators).map((one, at) => ({ ...one, text: texts[at] }));
      return JSON.stringify({ ...made, ...titles, classificators, more: 0 });
    });
    return answerKept(caller, legend);
  }
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  const isStyled = hasStyledClasses(layer);
  if (!extended || !isStyled)
    throw notFound(
      `visualization of the layer "${layer.code}"${isStyled ? ": extended=1 makes a legend of the rules of its style" : ""}`,
    );
  const found = await styleOf(services, map, layer);
  if (!found) throw busy("The style of the layer takes too long to be read now.");
  const legend = await kept([found.style], () => {
    const { classificators, more, zooms } = styledClasses({ layer, main }, found.style, language);
    const values = classificators.flatMap(({ value }) => (typeof value === "number" ? [value] : []));
    const texts = valueTexts(values, { kind: "number" }, { own: language, main });
    return JSON.stringify({
      name: localName(layer, language, main) || layer.code,
      column: null,
      showValues: true,
      showLegend: isLegendShown(layer),
      minValue: values[0] ?? null,
      maxValue: values.at(-1) ?? null,
      type: pluginOf(layer, services.plugins)?.name ?? null,
      classificators: withIcons(classificators, zooms).map((one, at) =>
        typeof one.value === "number" ? { ...one, text: texts[at] } : one,
      ),
      more,
    });
  });
  return found.hasFailed ? keptByNobody(answerKept(caller, legend)) : answerKept(caller, legend);
}

/** A style whose classes mean nothing to readers, such as tints that tell neighbours apart, has no legend on the page. */
const isLegendShown = ({ json }: LayerNode): boolean =>
  (json.viewer as { readonly legend?: unknown } | null | undefined)?.legend !== false;

export const legendOperations: readonly Operation[] = [
  operation({
    id: "getLegend",
    tag: "Layers",
    summary: "Get the legend of a layer",
    details:
      "404 for layers without a visualization of a built-in type, unless `extended` asks for the rules of " +
      "their style: then the value of a class is its filter in words, or a number of a raster layer's colours; null = all " +
      "other objects. At most 100 classes; `more` says how many are left out.",
    methods: ["GET"],
    path: `${layerPath}/legend/`,
    isKeptByCdn: true,
    takesTileKey: true,
    query: legendParameters,
    answer: answers("The legend, with values and class breaks computed from the objects.", ref("Legend")),
    handle: getLegend,
  }),
];
