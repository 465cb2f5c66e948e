/** Something that keeps an evaluation from being made: a setting, or the address of the model. Its message is for the person who runs it. */
export class EvaluationProblem extends Error {}
