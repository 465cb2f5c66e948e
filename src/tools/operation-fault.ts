/** A fault of an operation of a model: its request cannot be written. The message quotes no other error, because an error may quote a secret. */
export class OperationFault extends Error {
  override readonly name = 'OperationFault';
  /** The function with its operation: `get_thing: request`. */
  readonly functionName: string;

  /** @param problem continues the sentence that begins with the function */
  constructor(functionName: string, problem: string, options?: ErrorOptions) {
    super(`${functionName} ${problem}`, options);
    this.functionName = functionName;
  }
}
