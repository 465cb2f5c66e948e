import { convertBotocore, isBotocore } from './botocore.js';
import { type Model, parseModelJson, readAst } from './model.js';

/**
 * Reads a model: the JSON AST of Smithy 2.0, or botocore's `service-2.json`.
 * @param paginators text of the file `paginators-1.json` beside a botocore model
 * @throws ModelError
 */
export function readModel(text: string, paginators?: string): Model {
  const json = parseModelJson(text);
  if (!isBotocore(json)) return readAst(json);
  return readAst(convertBotocore(json, paginators === undefined ? undefined : parseModelJson(paginators)));
}
