const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{');

/**
 * Counts the values of JSON, or the tags of XML.
 * Each JSON value has a comma or an opening bracket before it.
 */
export function countValues(text: string, most = Number.POSITIVE_INFINITY): number {
  if (/^\s*</.test(text)) return countTags(text, most);
  let count = 0;
  let isString = false;
  for (let at = 0; at < text.length && count <= most; at += 1) {
    const code = text.charCodeAt(at);
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
