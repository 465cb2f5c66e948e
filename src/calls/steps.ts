import type { Next } from '../tools/next.js';
import type { FailureCode } from '../transport/http-client.js';
import { nextOf, type Step, type Values } from './advice.js';
import table from './steps.json' with { type: 'json' };

/** This file reads the table of what to do after an error of the cloud or of the network, which only calls need. */

type StepName = keyof typeof table.steps;

export const httpFailures: Readonly<
  Record<FailureCode, Step & { readonly problem: string; readonly endedHere?: boolean }>
> = table.failures;
/** Names of steps, or of choices among steps. Some codes are beginnings of codes. */
export const stepByCode: Readonly<Record<string, string>> = table.codes;
export const stepByStatus: Readonly<Record<string, string>> = table.statuses;

export const isStepName = (name: string): name is StepName => Object.hasOwn(table.steps, name);
export const stepNamed = (name: StepName, values?: Values): Next => nextOf(table.steps[name], values);
