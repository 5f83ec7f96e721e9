import { exampleTable, visualizationExamples } from "../../visualization-examples.js";

/** The page of the visualizations: the request that makes each kind, and a picture of it. */

const written = (settings: object): string => JSON.stringify(settings, undefined, 2).replaceAll("'", "'\\''");

export function visualizationsPage(): string {
  const parts = visualizationExamples.map(({ name, title, about, settings }) => {
    return `## ${title}

${about}

\`\`\`sh
curl -H "$AUTH" -X PUT $TOWNS/visualization/ --json '${written(settings)}'
# {"style_mode": 3, …}
\`\`\`

![${title}](../pictures/visualization-${name}.webp)`;
  });
  return `# Visualizations

<!-- words: thematic map, choropleth, bubble chart, pie chart, bar chart, heat map, heatmap, clusters, clustered points, many points, classes, legend, diagram -->

Maps that show values: the request that makes each kind, and a picture of it. All settings, and legends, are told in
[visualizations by the API](api-visualizations.md).

The pictures show this table:

\`\`\`csv file=towns.csv
${exampleTable}\`\`\`

\`\`\`sh
npx mapwright project create towns --name Switzerland
echo correct-horse | npx mapwright user add tom --project towns --role admin
npx mapwright map create towns swiss --name "Swiss towns"
npx mapwright import towns swiss towns towns.csv
TOWNS=http://localhost:8080/api/2.8/towns/swiss/layers/towns
AUTH="Authorization: Bearer $(npx mapwright session open tom --project towns)"
\`\`\`

A visualization takes the place of the layer's CartoCSS, until it is deleted (\`DELETE $TOWNS/visualization/\`).

${parts.join("\n\n")}
`;
}
