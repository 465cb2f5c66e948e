/** The error for a file of operations, or a part of it, that cannot be used. Each problem is a sentence without a full stop. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
  readonly problems: readonly string[];

  constructor(...problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}
