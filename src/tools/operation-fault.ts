/** A fault of an operation's definition, such as a function that throws or returns a wrong value. */
export class OperationFault extends Error {
  override readonly name = 'OperationFault';
}
