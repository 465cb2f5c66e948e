import { type BotocoreCompanions, convertBotocore, isBotocore } from './botocore.js';
import { type Model, parseModelJson, readAst } from './model.js';

/** Texts of the files beside a model of botocore, by kind. A file that is not there is undefined. */
export type CompanionTexts = Readonly<Record<keyof BotocoreCompanions, string | undefined>>;

/**
 * Reads a model: the JSON AST of Smithy 2.0, or botocore's `service-2.json`.
 * @throws ModelError
 */
export function readModel(text: string, companions: Partial<CompanionTexts> = {}): Model {
  const json = parseModelJson(text);
  if (!isBotocore(json)) return readAst(json);
  const parsed = Object.entries(companions).flatMap(([kind, content]) =>
    content === undefined ? [] : [[kind, parseModelJson(content)]],
  );
  return readAst(convertBotocore(json, Object.fromEntries(parsed)));
}
