/** Shows the API's description with Swagger UI, which the page loads before this. */

type SwaggerUi = (options: Readonly<Record<string, unknown>>) => unknown;
declare const SwaggerUIBundle: SwaggerUi;

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
follow();
dark.addEventListener("change", follow);

SwaggerUIBundle({
  url: document.body.dataset.description,
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  tryItOutEnabled: true,
  // Nothing is sent to other servers, and a token is not kept longer than the page.
  validatorUrl: null,
  persistAuthorization: false,
});
