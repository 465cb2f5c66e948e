/** Reasons why the operations of a model cannot be made, one sentence each without a full stop. */
export class ModelProblems extends Error {
  override readonly name = 'ModelProblems';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}
