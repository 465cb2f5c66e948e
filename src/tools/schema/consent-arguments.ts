import * as z from 'zod';
import { text } from './fields.js';

/** Arguments of every tool that creates or changes. They steer the call; none of them is sent. */
export const consentArguments = {
  planOnly: z.boolean('must be true or false').describe('Show the plan, send nothing.').optional(),
  allowRepeat: z.boolean('must be true or false').describe('Send the same again on purpose.').optional(),
  planId: text().describe('From the plan, to carry it out.').optional(),
};
