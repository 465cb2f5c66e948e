import type { HostContext } from '../host/host.js';

/** Applies the host's theme, colours and fonts. Properties that the host did not send stay as they are. */
export function applyAppearance(document: Document, { theme, variables, fonts }: HostContext): void {
  const root = document.documentElement;
  if (theme !== undefined) root.style.colorScheme = theme;
  for (const [name, value] of Object.entries(variables))
    if (/^--[a-z0-9-]{1,60}$/.test(name) && typeof value === 'string') root.style.setProperty(name, value);
  if (fonts !== undefined) applyFonts(document, fonts);
}

/** Loads the host's fonts. If the content security policy of the view blocks them, the browser falls back to system fonts. */
function applyFonts(document: Document, css: string): void {
  const sheet = new CSSStyleSheet();
  try {
    sheet.replaceSync(css);
  } catch {
    return;
  }
  document.adoptedStyleSheets = [sheet];
}

/** Formats milliseconds since 1970 in the host's zone: date, time and zone (`whole`), time of day (`minute`, `second`), or only the zone's name. */
export type FormatTime = (time: number, form?: 'whole' | 'minute' | 'second' | 'zone') => string;

const minute = { hour: '2-digit', minute: '2-digit' } as const;
const second = { ...minute, second: '2-digit' } as const;
const whole = { year: 'numeric', month: 'short', day: 'numeric', ...second, timeZoneName: 'short' } as const;

/** Returns the formatter for a locale and a time zone. If they are missing or unknown, the browser's own are used. */
export function timeFormat({ locale, timeZone }: Pick<HostContext, 'locale' | 'timeZone'>): FormatTime {
  const formats = dateTimeFormats(locale, timeZone);
  return (time, form = 'whole') => {
    if (form !== 'zone') return formats[form].format(time);
    const parts = formats.whole.formatToParts(time);
    return parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  };
}

function dateTimeFormats(locale: string | undefined, timeZone: string | undefined) {
  const zone = timeZone === undefined ? {} : { timeZone };
  try {
    return {
      whole: new Intl.DateTimeFormat(locale, { ...whole, ...zone }),
      minute: new Intl.DateTimeFormat(locale, { ...minute, ...zone }),
      second: new Intl.DateTimeFormat(locale, { ...second, ...zone }),
    };
  } catch (error) {
    // Without a locale and a time zone, the error has another cause, and a second attempt would fail too.
    if (locale === undefined && timeZone === undefined) throw error;
    return dateTimeFormats(undefined, undefined);
  }
}
