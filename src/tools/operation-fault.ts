/** A fault of an operation's definition, such as a function that throws or returns a wrong value. */
export class OperationFault extends Error {
  override readonly name = 'OperationFault';
  /** The function with its operation: `get_thing: change.headline`. */
  readonly functionName: string;
  /** The message for the log of a server. It quotes no other error, because an error may quote a secret, as the errors of `JSON.parse` do. */
  readonly logText: string;

  /**
   * @param problem continues the sentence that begins with the function
   * @param options `logProblem` takes the place of `problem` in the log
   */
  constructor(
    functionName: string,
    problem: string,
    { logProblem = problem, ...options }: ErrorOptions & { readonly logProblem?: string } = {},
  ) {
    super(`${functionName} ${problem}`, options);
    this.functionName = functionName;
    this.logText = `${functionName} ${logProblem}`;
  }
}
