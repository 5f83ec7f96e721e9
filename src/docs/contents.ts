/** The pages of the documentation in their order, which "next" at their feet follows. */

/** Pages of a section that belong together. */
export interface Group {
  /** Above their list on the first page; "" where the section has one group only. */
  readonly title: string;
  readonly pages: readonly string[];
}

export interface Section {
  /** Folder of the pages, and their address below `/docs/`. */
  readonly folder: string;
  readonly title: string;
  /** What its pages are for, one sentence. */
  readonly about: string;
  readonly groups: readonly Group[];
}

const group = (title: string, ...pages: readonly string[]): Group => ({ title, pages });

export const sections: readonly Section[] = [
  {
    folder: "tutorials",
    title: "Tutorials",
    about: "Lessons that lead from nothing to a result.",
    groups: [group("", "first-map", "map-in-the-browser", "thematic-map", "live-map", "project-with-rights")],
  },
  {
    folder: "how-to",
    title: "How to",
    about: "One question of somebody who publishes maps, and its answer.",
    groups: [
      group("The look of a map", "restyle", "labels", "arrange-layers"),
      group(
        "Columns and objects",
        ...["add-a-column", "edit-objects", "photos", "filter-objects", "box-of-an-object"],
      ),
      group(
        "Data in and out",
        ...["import-files", "export-data", "offline-tiles", "raster-layers"],
        ...["external-layers", "derived-layers", "copy-a-map"],
      ),
      group(
        "For those who read the map",
        ...["search-settings", "translate-names", "embed-a-map", "private-maps-in-other-programs"],
      ),
      group(
        "Users, tidying up, limits",
        ...["users-and-rights", "sign-in-by-another-service", "delete-and-clean-up", "limits"],
      ),
    ],
  },
  {
    folder: "operating",
    title: "Operating",
    about: "Running the server: set-up, safety, growth, trouble.",
    groups: [
      group("Plans", "one-machine", "three-machines", "large"),
      group("Set it up", "install", "first-settings", "behind-a-proxy", "systemd", "containers"),
      group("Keep it safe", "backup", "restore", "upgrade", "move-to-another-machine"),
      group(
        "Let it grow",
        "disk-use",
        "database-elsewhere",
        "replicated-database",
        "redis",
        "several-nodes",
        "cdn",
      ),
      group(
        "Watch it",
        ...[
          "operators",
          "health-and-metrics",
          "alerts",
          "fair-shares",
          "secrets",
          "load-tests",
          "troubleshooting",
        ],
      ),
    ],
  },
  {
    folder: "reference",
    title: "Reference",
    about: "What exactly: complete and dry.",
    groups: [
      group(
        "To look up",
        ...["settings", "commands", "errors", "formats", "cartocss", "visualizations", "filter-language"],
        ...["viewer", "http"],
      ),
      group(
        "Each operation of the API",
        "operations",
        ...[
          "sessions",
          "maps",
          "folders",
          "layers",
          "structure",
          "objects",
          "files",
          "import-and-export",
        ].map((tag) => `operations-${tag}`),
        ...["operations-search", "operations-tiles", "operations-server"],
      ),
      group(
        "The API by subject",
        ...["api-basics", "api-session", "api-maps", "api-layers", "api-styles", "api-columns"],
        ...["api-objects", "api-files", "api-derived-layers", "api-visualizations", "api-search"],
        ...["api-tiles", "api-tile-keys", "api-errors", "api-deleting"],
      ),
    ],
  },
  {
    folder: "explanation",
    title: "Explanation",
    about: "Why, and how it works inside.",
    groups: [
      group(
        "",
        ...["never-stale", "way-of-a-tile", "fairness", "processes", "large-layers", "data-and-imports"],
        ...["search", "safety"],
      ),
    ],
  },
];

/** Names of a section's pages. */
export const pagesOf = ({ groups }: Section): readonly string[] => groups.flatMap(({ pages }) => pages);

/** Paths of all pages, such as `how-to/restyle`. */
export const pagePaths: readonly string[] = sections.flatMap((section) =>
  pagesOf(section).map((page) => `${section.folder}/${page}`),
);
