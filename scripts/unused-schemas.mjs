// Removes schemas from the bundle that the MCP SDK makes for every type of the protocol when it is loaded, and that nothing here
// reads. They take a tenth of the time of a start.

/** A rolldown plugin. The build fails if there is nothing to remove, because a new version of the SDK may differ. */
export function withoutUnusedSchemas() {
  let tables = 0;
  let constants = 0;
  return {
    name: 'without-unused-schemas',
    transform: {
      filter: { id: /[\\/]@modelcontextprotocol[\\/](?:server|core)[\\/]dist[\\/]/ },
      handler(code, id) {
        const { body } = this.parse(code);
        if (/[\\/]core[\\/]dist[\\/]/.test(id)) {
          const calls = body.flatMap(schemas);
          constants += calls.length;
          return edited(code, calls, (call) => `/* @__PURE__ */ (() => ${call})()`);
        }
        const loops = body.filter(fillsTable);
        tables += loops.length;
        return edited(code, loops, () => '');
      },
    },
    buildEnd(error) {
      if (error === undefined && (tables < 2 || constants === 0))
        throw new Error('The SDK makes its schemas in another way now: look at scripts/unused-schemas.mjs again.');
    },
  };
}

/** The loops over all schemas, for `specTypeSchemas` and `isSpecType`: `for (const key of keys) register(key, schemas[key]);` */
const fillsTable = ({ type, body }) => type === 'ForOfStatement' && body.expression?.callee?.name === 'register';

/** The calls whose values are constants of the module. They have no other effect and can go if nothing reads them. */
const schemas = ({ type, declarations }) =>
  type === 'VariableDeclaration'
    ? declarations.flatMap(({ init }) => (init?.type === 'CallExpression' ? init : []))
    : [];

/** The code with some nodes replaced. */
function edited(code, nodes, write) {
  let at = 0;
  const pieces = nodes.flatMap(({ start, end }) => {
    const before = code.slice(at, start);
    at = end;
    return [before, write(code.slice(start, end))];
  });
  return pieces.join('') + code.slice(at);
}
