import fc from 'fast-check';

/**
 * Any text, also with halves of surrogate pairs. The unit `binary` of fast-check means the same, and takes a second to build in each process that
 * runs tests.
 */
export function anyText(constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  const unit = fc.nat({ max: 0x10_ff_ff }).map((codePoint) => String.fromCodePoint(codePoint));
  return fc.oneof(
    { weight: 9, arbitrary: fc.string({ unit, ...constraints }) },
    // With names such as `__proto__`.
    { weight: 1, arbitrary: fc.string(constraints) },
  );
}
