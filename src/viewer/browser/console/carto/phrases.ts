import { EditorState, type Extension } from "@codemirror/state";
import type { TextKey, Translate } from "../../texts.js";

/** What CodeMirror says, by its own words for it. */
const keys: Readonly<Record<string, TextKey>> = {
  Find: "codeFind",
  Replace: "codeReplaceBy",
  next: "codeNext",
  previous: "codePrevious",
  "match case": "codeMatchCase",
  regexp: "codeRegexp",
  "by word": "codeWholeWord",
  replace: "codeReplace",
  "replace all": "codeReplaceAll",
  close: "close",
  "current match": "codeCurrentMatch",
  "on line": "codeOnLine",
  "replaced $ matches": "codeReplacedMany",
  "replaced match on line $": "codeReplacedOne",
  "Go to line": "codeGoToLine",
  go: "codeGo",
  Completions: "codeCompletions",
  Diagnostics: "codeProblems",
  "No diagnostics": "codeNoProblems",
  "Control character": "codeControl",
};

export const phrases = (t: Translate): Extension =>
  EditorState.phrases.of(Object.fromEntries(Object.entries(keys).map(([phrase, key]) => [phrase, t(key)])));
