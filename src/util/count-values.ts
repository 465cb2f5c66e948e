const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{');

/**
 * Counts the values of a JSON text, or the tags of an XML text, without parsing it. In JSON, each value has a comma or an opening bracket before
 * it, outside of strings. The result for another text does not matter, because parsing refuses such text.
 * @param most the count ends beyond this number
 */
export function countValues(text: string, most = Number.POSITIVE_INFINITY): number {
  if (/^\s*</.test(text)) return countTags(text, most);
  let count = 0;
  let isString = false;
  for (let at = 0; at < text.length && count <= most; at += 1) {
    const code = text.charCodeAt(at);
    // Skips the escaped character, which may be a quote.
    if (isString && code === backslash) at += 1;
    else if (code === quote) isString = !isString;
    else if (!isString && (code === comma || code === bracket || code === brace)) count += 1;
  }
  return count;
}

function countTags(xml: string, most: number): number {
  let count = 0;
  for (let at = xml.indexOf('<'); at >= 0 && count <= most; at = xml.indexOf('<', at + 1)) count += 1;
  return count;
}
