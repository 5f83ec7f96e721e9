import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { exampleTable, visualizationExamples } from "../../visualization-examples.js";

/** The page of the visualizations: a picture of each kind, and the request that makes it. */

const pictures = join(dirname(fileURLToPath(import.meta.url)), "../../pictures");

const written = (settings: object): string => JSON.stringify(settings, undefined, 2).replaceAll("'", "'\\''");

export function visualizationsPage(): string {
  const parts = visualizationExamples.map(({ name, title, about, settings }) => {
    const file = `visualization-${name}.png`;
    const picture = existsSync(join(pictures, file)) ? `![${title}](../pictures/${file})\n\n` : "";
    return `## ${title}

${about}

${picture}\`\`\`sh
curl -H "$AUTH" -X PUT $TOWNS/visualization/ --json '${written(settings)}'
# {"style_mode": 3, …}
\`\`\``;
  });
  return `# Visualizations

<!-- words: thematic map, choropleth, bubble chart, pie chart, bar chart, heat map, classes, legend, diagram -->

Maps that show values: a picture of each kind, and the request that makes it. All settings, and legends, are told in
[visualizations by the API](api-visualizations.md).

The pictures show this table:

\`\`\`csv file=towns.csv
${exampleTable}\`\`\`

\`\`\`sh
npx mapwright project create towns
echo correct-horse | npx mapwright user add tom --project towns --role admin
npx mapwright map create towns swiss
npx mapwright import towns swiss towns towns.csv
TOWNS=http://localhost:8080/api/2.8/towns/swiss/layers/towns
AUTH="Authorization: Bearer $(npx mapwright session open tom --project towns)"
\`\`\`

A visualization takes the place of the layer's CartoCSS, until it is deleted (\`DELETE $TOWNS/visualization/\`).

${parts.join("\n\n")}
`;
}
