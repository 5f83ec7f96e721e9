/** The pages of the documentation in their order, which "next" at their feet follows. */

export interface Section {
  /** Folder of the pages, and their address below `/docs/`. */
  readonly folder: string;
  readonly title: string;
  /** What its pages are for, one sentence. */
  readonly about: string;
  readonly pages: readonly string[];
}

export const sections: readonly Section[] = [
  {
    folder: "tutorials",
    title: "Tutorials",
    about: "Lessons that lead from nothing to a result.",
    pages: ["first-map", "thematic-map", "live-map", "project-with-rights"],
  },
  {
    folder: "how-to",
    title: "How to",
    about: "One question of somebody who publishes maps, and its answer.",
    pages: [
      ...[
        "restyle",
        "labels",
        "arrange-layers",
        "add-a-column",
        "edit-objects",
        "photos",
        "filter-objects",
        "box-of-an-object",
      ],
      ...[
        "import-files",
        "export-data",
        "offline-tiles",
        "raster-layers",
        "external-layers",
        "derived-layers",
        "copy-a-map",
      ],
      ...["search-settings", "translate-names", "embed-a-map", "private-maps-in-other-programs"],
      ...["users-and-rights", "sign-in-by-another-service", "delete-and-clean-up", "limits"],
    ],
  },
  {
    folder: "operating",
    title: "Operating",
    about: "Running the server: set-up, safety, growth, trouble.",
    pages: [
      ...["install", "first-settings", "behind-a-proxy", "systemd", "backup", "restore", "upgrade"],
      ...["move-to-another-machine", "disk-use", "database-elsewhere", "redis", "several-nodes", "cdn"],
      ...["health-and-metrics", "fair-shares", "secrets", "load-tests", "troubleshooting"],
    ],
  },
  {
    folder: "reference",
    title: "Reference",
    about: "What exactly: complete and dry.",
    pages: [
      ...["settings", "commands", "errors", "formats", "cartocss", "visualizations", "filter-language"],
      ...["viewer", "http", "operations"],
      ...["sessions", "maps", "folders", "layers", "structure", "objects", "files", "import-and-export"].map(
        (tag) => `operations-${tag}`,
      ),
      ...["operations-search", "operations-tiles", "operations-server"],
      ...["api-basics", "api-session", "api-maps", "api-layers", "api-styles", "api-columns", "api-objects"],
      ...[
        "api-files",
        "api-derived-layers",
        "api-visualizations",
        "api-search",
        "api-tiles",
        "api-tile-keys",
      ],
      ...["api-errors", "api-deleting"],
    ],
  },
  {
    folder: "explanation",
    title: "Explanation",
    about: "Why, and how it works inside.",
    pages: [
      ...[
        "never-stale",
        "way-of-a-tile",
        "fairness",
        "processes",
        "large-layers",
        "data-and-imports",
        "search",
      ],
      "safety",
    ],
  },
];

/** Paths of all pages, such as `how-to/restyle`. */
export const pagePaths: readonly string[] = sections.flatMap(({ folder, pages }) =>
  pages.map((page) => `${folder}/${page}`),
);
