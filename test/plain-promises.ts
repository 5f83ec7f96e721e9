import asyncHooks from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";

/**
 * Loaded before a test file: without it tap follows every promise of the process, to tell which test an error belongs to that
 * nothing catches. That takes up to half of the time of a server under test. Such an error ends the file instead, which then
 * has failed.
 */

const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) =>
  // Only tap asks when what it follows is gone.
  callbacks.destroy ? createHook({}) : createHook(callbacks);
syncBuiltinESMExports();
