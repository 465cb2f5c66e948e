/**
 * A rolldown plugin that writes all characters beyond ASCII as escapes: a single one beyond Latin-1 would make V8 use two bytes for each
 * character of a file. The minifier's own option leaves tagged templates as they are. Nothing here reads their raw text.
 */
export function asciiOnly() {
  return {
    name: 'ascii-only',
    generateBundle(_options, files) {
      for (const file of Object.values(files))
        if (file.type === 'chunk')
          file.code = file.code.replace(
            /[^\0-\x7f]/g,
            (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
          );
    },
  };
}
