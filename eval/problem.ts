/** A problem that stops the evaluation, such as a wrong setting. The message is for the person who runs the evaluation. */
export class EvaluationProblem extends Error {}
