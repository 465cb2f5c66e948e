/** A fault of an operation of a model. The message quotes no other error, because an error may quote a secret. */
export class OperationFault extends Error {
  override readonly name = 'OperationFault';
  readonly functionName: string;

  constructor(functionName: string, problem: string, options?: ErrorOptions) {
    super(`${functionName} ${problem}`, options);
    this.functionName = functionName;
  }
}
