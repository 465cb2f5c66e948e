import type { Command } from './command.js';

/** Loaded when it is named, so that serving starts without the others. */
type Load = () => Promise<Command>;

/** Runs when no command is named. */
export const defaultCommand: Load = async () => (await import('./stdio.js')).stdioCommand;

/** Every command by its name. */
export const commands: Readonly<Record<string, Load>> = {
  call: async () => (await import('./call.js')).callCommand,
  'client-config': async () => (await import('./client-config.js')).clientConfigCommand,
  doctor: async () => (await import('./doctor.js')).doctorCommand,
  help: async () => (await import('./help.js')).helpCommand,
  http: async () => (await import('./http.js')).httpCommand,
  journal: async () => (await import('./journal.js')).journalCommand,
  sandbox: async () => (await import('./sandbox.js')).sandboxCommand,
  view: async () => (await import('./view.js')).viewCommand,
};
