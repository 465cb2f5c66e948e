// Leaves out of the bundle what the MCP SDK makes whenever it is loaded, and what nothing here reads: a schema for every type of the
// protocol. They take a tenth of the time of a start.

/** A rolldown plugin. The build fails when there is nothing to leave out, as a new version of the SDK may do it otherwise. */
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

/** The calls whose values are constants of the module. They have no effect but their value: without a reader, they can go. */
const schemas = ({ type, declarations }) =>
  type === 'VariableDeclaration'
    ? declarations.flatMap(({ init }) => (init?.type === 'CallExpression' ? init : []))
    : [];

/** The code with some of its nodes written otherwise. */
function edited(code, nodes, write) {
  let at = 0;
  const pieces = nodes.flatMap(({ start, end }) => {
    const before = code.slice(at, start);
    at = end;
    return [before, write(code.slice(start, end))];
  });
  return pieces.join('') + code.slice(at);
}
