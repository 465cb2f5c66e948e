/** Returns the first entries that fit into `maximumCharacters` of JSON, but at least one entry. */
export function firstThatFit<Entry>(entries: readonly Entry[], maximumCharacters: number): Entry[] {
  let length = 0;
  const firstThatDoesNotFit = entries.findIndex((entry) => {
    // The comma takes another character.
    length += JSON.stringify(entry).length + 1;
    return length > maximumCharacters;
  });
  return firstThatDoesNotFit < 0 ? [...entries] : entries.slice(0, Math.max(1, firstThatDoesNotFit));
}
