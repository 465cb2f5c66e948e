import { setTimeout as delay } from 'node:timers/promises';

/** What a person does before an answer, for servers with a clock of their own: they take a faster answer for a program's. */
export const readAsAPerson = () => delay(1100);
