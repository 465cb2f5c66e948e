// Keeps zod's messages in English only. Files of operations are given all of zod, and the other languages would be a third of the start.

/** A rolldown plugin. The build fails if there is nothing to leave out, because a new version of zod may differ. */
export function withoutUnusedLocales() {
  let found = false;
  return {
    name: 'without-unused-locales',
    transform: {
      filter: { id: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ },
      handler() {
        found = true;
        return "export { default as en } from './en.js';";
      },
    },
    buildEnd(error) {
      if (error === undefined && !found)
        throw new Error('zod keeps its locales elsewhere now: look at scripts/unused-locales.mjs again.');
    },
  };
}
