import type { CallToolResult } from '@modelcontextprotocol/server';
import { plainResult, resultText } from '../calls/result-text.js';
import type { ActionToken, ActionTokens } from '../consent/action-tokens.js';
import type { EndedOutcome } from '../consent/outcome.js';
import type { SafeText } from '../util/safe-text.js';
import { viewMeta } from './views/results.js';

/** What a view needs besides the outcome. */
interface ViewContext {
  /** The call that a click in the view repeats. */
  readonly call: Pick<ActionToken, 'tool' | 'args'>;
  readonly actionTokens: Pick<ActionTokens, 'seal'>;
  /** The earlier decision in a sentence, if the plan was decided before. */
  readonly earlier?: SafeText | undefined;
}

/**
 * Returns a result as text and as structured content, because hosts pass the text, the structure or both to models.
 * @param view undefined if the client shows no views
 */
export function toolResult(outcome: EndedOutcome, view: ViewContext | undefined): CallToolResult {
  const failed = outcome.kind === 'failed';
  const result = failed ? outcome.failure : outcome.success;
  const content = [{ type: 'text' as const, text: resultText(result) }];
  return {
    content,
    structuredContent: plainResult(result),
    ...(view !== undefined && { _meta: viewMeta(outcome, view.call, view.actionTokens, { earlier: view.earlier }) }),
    ...(failed && { isError: true }),
  };
}
