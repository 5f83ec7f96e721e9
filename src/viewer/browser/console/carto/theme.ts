import { EditorView } from "@codemirror/view";

/** How the editor looks. Custom properties are those of viewer.css, and colours of what is written, which are legible on its surfaces. */

const light = {
  "--code-comment": "#5a6774",
  "--code-property": "#0b5a8a",
  "--code-selector": "#0a6445",
  "--code-name": "#7a3e9d",
  "--code-value": "#94460a",
  "--code-number": "#9c2463",
};
const dark = {
  "--code-comment": "#9aa7b3",
  "--code-property": "#7fc4f0",
  "--code-selector": "#84d3ab",
  "--code-name": "#cdaaf2",
  "--code-value": "#ecb67c",
  "--code-number": "#f29ab8",
};
const control = {
  padding: "2px 8px",
  minHeight: "28px",
  border: "1px solid var(--line-strong)",
  borderRadius: "var(--radius-small)",
  background: "var(--surface)",
  color: "var(--ink)",
  font: "13px / 1.4 var(--font)",
};
const focusRing = { outline: "2px solid var(--accent)", outlineOffset: "1px" };

export const cartoTheme = EditorView.theme({
  "&": {
    height: "100%",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius-small)",
    background: "var(--surface)",
    color: "var(--ink)",
    fontSize: "12.5px",
  },
  "&.cm-focused": focusRing,
  ".cm-scroller": {
    ...light,
    borderRadius: "inherit",
    fontFamily: 'ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace',
    lineHeight: "18px",
  },
  ".cm-content": { padding: "6px 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 8px 0 6px" },
  ".cm-gutters": { border: "none", background: "var(--surface-2)", color: "var(--ink-2)" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "22px", padding: "0 4px 0 2px" },
  ".cm-gutter-lint": { width: "14px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "3px 1px" },
  ".cm-activeLine, .cm-activeLineGutter": { background: "transparent" },
  "&.cm-focused .cm-matchingBracket": {
    background: "var(--surface-3)",
    outline: "1px solid var(--line-strong)",
  },
  ".cm-searchMatch": { background: "var(--accent-soft)", outline: "1px solid var(--accent)" },
  ".cm-searchMatch-selected": { outline: "2px solid var(--mark)" },
  ".cm-selectionMatch": { background: "var(--surface-3)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textDecorationSkipInk: "none",
  },
  ".cm-panels": { background: "var(--surface-2)", color: "var(--ink)", fontFamily: "var(--font)" },
  ".cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panel.cm-search": { padding: "8px 30px 8px 8px" },
  ".cm-panel.cm-search, .cm-panel.cm-gotoLine": { fontSize: "13px" },
  ".cm-panel.cm-search label": { margin: "0 8px 0 0", fontSize: "13px", whiteSpace: "nowrap" },
  ".cm-panel .cm-textfield": { ...control, margin: "2px 4px 2px 0", fontSize: "13px" },
  ".cm-panel .cm-button": { ...control, margin: "2px 4px 2px 0", backgroundImage: "none", cursor: "pointer" },
  ".cm-panel.cm-search [name=close]": {
    top: "4px",
    right: "4px",
    width: "26px",
    height: "26px",
    color: "var(--ink-2)",
    fontSize: "18px",
    cursor: "pointer",
  },
  // All matches at once would need several cursors, which a native selection has not.
  ".cm-panel.cm-search [name=select]": { display: "none" },
  ".cm-panel :is(input, button):focus-visible, .cm-panel-lint ul:focus": focusRing,
  ".cm-tooltip": {
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius-small)",
    background: "var(--surface)",
    boxShadow: "var(--shadow-high)",
    color: "var(--ink)",
    overflow: "hidden",
  },
  ".cm-tooltip-lint": { maxWidth: "320px" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--bad)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    maxWidth: "min(320px, 90vw)",
    maxHeight: "12em",
    fontFamily: 'ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace',
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    background: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-completionDetail": { color: "var(--ink-2)", fontStyle: "normal" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  "@media (prefers-color-scheme: dark)": { ".cm-scroller": dark },
  // Backgrounds are the system's then.
  "@media (forced-colors: active)": {
    ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
      background: "SelectedItem",
      color: "SelectedItemText",
      forcedColorAdjust: "none",
    },
    ".cm-searchMatch": { outline: "1px solid CanvasText" },
    ".cm-searchMatch-selected": { outline: "3px solid Highlight" },
    ".cm-lintRange-error": { textDecorationColor: "CanvasText" },
  },
});
