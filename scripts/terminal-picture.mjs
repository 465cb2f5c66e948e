// Draws frames of a terminal, as tmux captures them, as one SVG. The frames follow each other by CSS, without a script. With
// prefers-reduced-motion, only the last one is shown. The colours follow the reader's scheme.

/** Classes of the 16 colours, each for a light and a dark background. */
const palette = [
  ['#24292f', '#8b949e'],
  ['#b3261e', '#ff7b72'],
  ['#116329', '#7ee787'],
  ['#7d4e00', '#e3b341'],
  ['#0550ae', '#79c0ff'],
  ['#7b2d9e', '#d2a8ff'],
  ['#0b6b75', '#56d4dd'],
  ['#4b535d', '#c9d1d9'],
];
const [light, dark] = [
  { background: '#ffffff', text: '#1f2328', frame: '#d0d7de' },
  { background: '#0d1117', text: '#e6edf3', frame: '#30363d' },
];
const rgbOfDark = palette.map(([, hex]) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)));

/** The class of the nearest colour. Grey without much colour stays text. */
function nearest(rgb) {
  if (Math.max(...rgb) - Math.min(...rgb) < 24) return Math.max(...rgb) > 190 ? undefined : 7;
  const distances = rgbOfDark.map((other) => other.reduce((sum, value, at) => sum + (value - rgb[at]) ** 2, 0));
  return distances.indexOf(Math.min(...distances.slice(1, 7)));
}

/** The colour of one of 256. */
function ofTable(index) {
  if (index < 8) return index === 7 ? undefined : index;
  if (index < 16) return index === 15 ? undefined : index - 8;
  if (index > 231) return nearest(Array(3).fill(8 + 10 * (index - 232)));
  const level = (value) => (value === 0 ? 0 : 55 + 40 * value);
  const cube = index - 16;
  return nearest([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level));
}

/** Codes without a value, and what they set. */
const styleOfCode = {
  1: { bold: true },
  2: { dim: true },
  7: { inverse: true },
  22: { bold: false, dim: false },
  27: { inverse: false },
  39: { color: undefined },
};

/** The color of a code from 30 to 37 or from 90 to 97. */
function plainColor(code) {
  if (code >= 30 && code < 38) return { color: ofTable(code - 30) };
  return code >= 90 && code < 98 ? { color: ofTable(code - 82) } : {};
}

/** Applies the codes of an escape sequence (`ESC[1;38;5;2m`) to a style. Backgrounds are left out. */
function applyCodes(style, codes) {
  const left = codes.split(';').map(Number);
  let next = style;
  while (left.length > 0) {
    const code = left.shift();
    if (code === 0) next = {};
    else if (code === 38 || code === 48) {
      const color = left.shift() === 5 ? ofTable(left.shift()) : nearest(left.splice(0, 3));
      if (code === 38) next = { ...next, color };
    } else next = { ...next, ...(styleOfCode[code] ?? plainColor(code)) };
  }
  return next;
}

const escapeXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const classesOf = ({ bold, dim, inverse, color }) =>
  [color !== undefined && `c${color}`, bold && 'b', dim && 'd', inverse && 'b'].filter(Boolean).join(' ');

/** A line as text elements of SVG, without its place. */
function drawLine(line) {
  let style = {};
  let column = 0;
  const spans = [];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  for (const [, codes, text] of line.matchAll(/\u001b\[([\d;]*)m|([^\u001b]+)/g)) {
    if (text === undefined) {
      style = applyCodes(style, codes || '0');
      continue;
    }
    const shown = text.trimEnd();
    if (shown !== '') {
      const lead = shown.length - shown.trimStart().length;
      const classes = classesOf(style);
      const x = (column + lead) * cell.width;
      const width = (shown.length - lead) * cell.width;
      spans.push(
        `<text x="${round(x)}" textLength="${round(width)}"${classes && ` class="${classes}"`}>${escapeXml(shown.trimStart())}</text>`,
      );
    }
    column += text.length;
  }
  return spans.join('');
}

const cell = { width: 7.8, height: 18 };
const round = (value) => Math.round(value * 10) / 10;

/**
 * Returns the SVG.
 * @param frames texts with escape sequences, each with the milliseconds for which it is shown
 */
export function terminalPicture({ frames, columns, rows, title }) {
  const [width, height] = [columns * cell.width + 24, rows * cell.height + 24];
  const lines = new Map();
  const bodies = frames.map(({ text }) =>
    text
      .split('\n')
      .slice(0, rows)
      .map((line, row) => {
        const drawn = drawLine(line);
        if (drawn === '') return '';
        if (!lines.has(drawn)) lines.set(drawn, `l${lines.size}`);
        return `<use href="#${lines.get(drawn)}" y="${row * cell.height}"/>`;
      })
      .join(''),
  );
  const total = frames.reduce((sum, { ms }) => sum + ms, 0);
  let elapsed = 0;
  const timing = frames.map(({ ms }, index) => {
    const [from, to] = [elapsed, elapsed + ms].map((time) => round((time / total) * 1000) / 10);
    elapsed += ms;
    const hidden = from === 0 ? '' : '0%{visibility:hidden}';
    const end = to >= 100 ? '100%{visibility:visible}' : `${to}%,100%{visibility:hidden}`;
    return `@keyframes k${index}{${hidden}${from}%{visibility:visible}${end}}#f${index}{animation-name:k${index}}`;
  });
  const colors = (scheme, side) =>
    `.bg{fill:${scheme.background};stroke:${scheme.frame}}text{fill:${scheme.text}}` +
    palette.map((pair, index) => `.c${index}{fill:${pair[side]}}`).join('');
  const style = [
    'text{font:13px ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace;white-space:pre}.b{font-weight:700}.d{opacity:.75}',
    colors(light, 0),
    `@media(prefers-color-scheme:dark){${colors(dark, 1)}}`,
    ...(frames.length === 1
      ? []
      : [
          `.f{visibility:hidden}#f${frames.length - 1}{visibility:visible}`,
          '@media(prefers-reduced-motion:no-preference){',
          `.f{animation:${total}ms step-end infinite}`,
          ...timing,
          '}',
        ]),
  ].join('\n');
  const defs = [...lines].map(([drawn, id]) => `<g id="${id}">${drawn}</g>`).join('\n');
  const shown = bodies.map((body, index) => `<g class="f" id="f${index}">${body}</g>`).join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${round(width)} ${height}" role="img">
<title>${escapeXml(title)}</title>
<style>${style}</style>
<defs>${defs}</defs>
<rect class="bg" x=".5" y=".5" width="${round(width) - 1}" height="${height - 1}" rx="8"/>
<g transform="translate(12 24)">
${shown}
</g>
</svg>
`;
}
