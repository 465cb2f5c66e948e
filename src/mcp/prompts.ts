import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { type Prompt, promptText } from './prompt-texts.js';

export function servePrompts(server: Server, prompts: readonly Prompt[]): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: prompts.map(({ name, title, description, args }) => ({
      name,
      title,
      description,
      arguments: Object.entries(args).map(([argument, { description, required = false }]) => ({
        name: argument,
        description,
        required,
      })),
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: given = {} } }) => {
    const prompt = findPrompt(prompts, name);
    const missing = Object.keys(prompt.args).filter((arg) => prompt.args[arg]?.required && given[arg] === undefined);
    if (missing.length > 0) throw invalid(`Invalid arguments for prompt ${name}: ${missing.join(', ')} missing.`);
    return { messages: [{ role: 'user', content: { type: 'text', text: promptText(prompt, given) } }] };
  });
}

/** Values to suggest for an argument of a prompt. */
export function promptValues(prompts: readonly Prompt[], name: string, argument: string): readonly string[] {
  const { args } = findPrompt(prompts, name);
  return (Object.hasOwn(args, argument) && args[argument]?.values) || [];
}

function findPrompt(prompts: readonly Prompt[], name: string): Prompt {
  const found = prompts.find((prompt) => prompt.name === name);
  if (found === undefined) throw invalid(`Prompt ${name} not found`);
  return found;
}

const invalid = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message);
