/** The error for a model or settings from which no operations can be made. Each problem is a sentence without a full stop. */
export class ModelProblems extends Error {
  override readonly name = 'ModelProblems';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}
