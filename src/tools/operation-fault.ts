/** A mistake in an operation: one of its functions threw, or answered with something else than it should. */
export class OperationFault extends Error {
  override readonly name = 'OperationFault';
}
