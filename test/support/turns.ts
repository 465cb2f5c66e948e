/** Counts the turns of the event loop in which other work can run, until it is disposed of. */
export function countTurns() {
  const counter = { turns: 0, [Symbol.dispose]: () => clearImmediate(next) };
  const count = () => {
    counter.turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  return counter;
}
