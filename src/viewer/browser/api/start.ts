/** Starts Swagger UI, which the page loads before this module. */

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
  // No requests to other servers, and tokens are not stored.
  validatorUrl: null,
  persistAuthorization: false,
});
