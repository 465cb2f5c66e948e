import type { HostContext } from '../host/host.js';

/** Applies the host's theme, colours and fonts. Missing values change nothing. */
export function applyAppearance(document: Document, { theme, variables, fonts }: HostContext): void {
  const root = document.documentElement;
  if (theme !== undefined) root.style.colorScheme = theme;
  for (const [name, value] of Object.entries(variables))
    if (/^--[a-z0-9-]{1,60}$/.test(name) && typeof value === 'string') root.style.setProperty(name, value);
  if (fonts !== undefined) applyFonts(document, fonts);
}

/** Loads the host's fonts. If the page's policy blocks them, system fonts are used. */
function applyFonts(document: Document, css: string): void {
  const sheet = new CSSStyleSheet();
  try {
    sheet.replaceSync(css);
  } catch {
    return;
  }
  document.adoptedStyleSheets = [sheet];
}

/**
 * Formats a time (milliseconds since 1970) in the host's locale and time zone: `whole` with date and zone, `minute` and `second` as time of
 * day without zone, `zone` as the short name of the zone.
 */
export type FormatTime = (time: number, form?: 'whole' | 'minute' | 'second' | 'zone') => string;

const minute = { hour: '2-digit', minute: '2-digit' } as const;
const second = { ...minute, second: '2-digit' } as const;
const whole = { year: 'numeric', month: 'short', day: 'numeric', ...second, timeZoneName: 'short' } as const;

/** Returns the formatter for a locale and a time zone. Missing or unknown ones are those of the browser. */
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
    if (locale === undefined && timeZone === undefined) throw error;
    // The browser does not know the locale or the time zone.
    return dateTimeFormats(undefined, undefined);
  }
}
