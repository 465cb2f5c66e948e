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

export function timeFormat({ locale, timeZone }: Pick<HostContext, 'locale' | 'timeZone'>): FormatTime {
  const formats = (place: string | undefined, zone: string | undefined) => {
    const inZone = zone === undefined ? {} : { timeZone: zone };
    return {
      whole: new Intl.DateTimeFormat(place, { ...whole, ...inZone }),
      minute: new Intl.DateTimeFormat(place, { ...minute, ...inZone }),
      second: new Intl.DateTimeFormat(place, { ...second, ...inZone }),
    };
  };
  const made = (() => {
    try {
      return formats(locale, timeZone);
    } catch {
      // The browser does not know the locale or time zone.
      return formats(undefined, undefined);
    }
  })();
  const zoneAt = (time: number) => made.whole.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value;
  return (time, form = 'whole') => (form === 'zone' ? (zoneAt(time) ?? '') : made[form].format(time));
}
