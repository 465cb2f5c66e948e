// Takes Node's own modules from `process.getBuiltinModule`. To an `import`, Node hands all of a module's exports, getters included,
// which load streams, promises and Web Crypto: a tenth of a start.

/** Loaded when one of their functions is first called. Loading `node:crypto` takes 5 ms, and most servers are asked for their tools alone. */
const late = new Set(['node:crypto', 'node:zlib']);

const prefix = '\0builtin:';

/** A rolldown plugin. */
export function builtinsAsUsed() {
  return {
    name: 'builtins-as-used',
    resolveId: {
      filter: { id: /^node:/ },
      // What is required is not handed its exports, and a library may require one that older versions of Node do not have.
      handler: (id, _importer, { kind }) => (kind === 'import-statement' ? `${prefix}${id}` : { id, external: true }),
    },
    load: {
      filter: { id: new RegExp(`^${prefix}`) },
      handler: (id) => (late.has(id.slice(prefix.length)) ? loadedLate : loadedAtOnce)(id.slice(prefix.length)),
    },
  };
}

const loadedAtOnce = (id) =>
  [
    `const builtin = process.getBuiltinModule('${id}');`,
    'export default builtin;',
    ...Object.keys(process.getBuiltinModule(id)).map(
      (name) => `export const ${name} = /* @__PURE__ */ (() => builtin.${name})();`,
    ),
  ].join('\n');

/** Only its functions: any other export has to be there at once, and the build fails where one is imported. */
const loadedLate = (id) =>
  [
    'let builtin;',
    `const load = () => (builtin ??= process.getBuiltinModule('${id}'));`,
    ...Object.entries(process.getBuiltinModule(id))
      .filter(([, value]) => typeof value === 'function')
      .map(([name]) => `export const ${name} = (...args) => load().${name}(...args);`),
  ].join('\n');
