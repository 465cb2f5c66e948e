/** A fault of an operation's definition, such as a function that throws or returns a wrong value. */
export class OperationFault extends Error {
  override readonly name = 'OperationFault';
  /** The function with its operation: `get_thing: change.headline`. */
  readonly functionName: string;
  /** @param problem continues the sentence that begins with the function */
  constructor(functionName: string, problem: string, options?: ErrorOptions) {
    super(`${functionName} ${problem}`, options);
    this.functionName = functionName;
  }
}
