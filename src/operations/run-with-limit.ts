import { createContext, Script } from 'node:vm';
import { lazy } from '../util/objects.js';

/** The times after which code from outside is given up, in milliseconds. */
export interface TimeLimits {
  /** For a file, and for what it exports. */
  readonly loadMs: number;
  /** For a function of an operation. It takes far less than one, and all other calls wait for it. */
  readonly callMs: number;
}

export const defaultTimeLimits: TimeLimits = { loadMs: 5000, callMs: 2000 };

/** A function did not end in time. */
export class Endless extends Error {}

/** Node can end code that runs only where it was started as a script. This one calls a function, and is never anything else. */
const caller = lazy(() => ({ script: new Script('run()'), context: createContext({}) }));

/**
 * Calls a function that comes from outside. A loop without an end, or an expression that takes years to match, would otherwise stop
 * the whole server.
 * @throws Endless if it does not end within some milliseconds, or whatever it throws
 */
export function watched<Value>(run: () => Value, limitMs: number): Value {
  const { script, context } = caller();
  context.run = run;
  try {
    return script.runInContext(context, { timeout: limitMs });
  } catch (error) {
    // It is an error of the script's own globals, so it has another class of the same name.
    if (Object(error).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      throw new Endless(`did not end within ${limitMs / 1000} seconds`);
    throw error;
  }
}
