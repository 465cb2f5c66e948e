import type { HostContext } from '../host/host.js';

/** Makes a page look like its host, as far as the host says how. What is absent stays as it is. */
export function applyAppearance(document: Document, { theme, variables, fonts }: HostContext): void {
  const root = document.documentElement;
  if (theme !== undefined) root.style.colorScheme = theme;
  for (const [name, value] of Object.entries(variables))
    if (/^--[a-z0-9-]{1,60}$/.test(name) && typeof value === 'string') root.style.setProperty(name, value);
  if (fonts !== undefined) applyFonts(document, fonts);
}

/** The text falls back to fonts of the system if the policy of the page lets no other in. */
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
 * Writes a time, in milliseconds since 1970, as people at the host write it: whole, as the minute of a day, both with their zone, or as the
 * second of a day beside a time that has one.
 */
export type FormatTime = (time: number, form?: 'whole' | 'minute' | 'second') => string;

const minute = { hour: '2-digit', minute: '2-digit' } as const;
const second = { ...minute, second: '2-digit' } as const;
const whole = { year: 'numeric', month: 'short', day: 'numeric', ...second, timeZoneName: 'short' } as const;

export function timeFormat({ locale, timeZone }: Pick<HostContext, 'locale' | 'timeZone'>): FormatTime {
  const formats = (place: string | undefined, zone: string | undefined) => {
    const inZone = zone === undefined ? {} : { timeZone: zone };
    return {
      whole: new Intl.DateTimeFormat(place, { ...whole, ...inZone }),
      minute: new Intl.DateTimeFormat(place, { ...minute, timeZoneName: 'short', ...inZone }),
      second: new Intl.DateTimeFormat(place, { ...second, ...inZone }),
    };
  };
  const made = (() => {
    try {
      return formats(locale, timeZone);
    } catch {
      // A locale or time zone that this browser does not know.
      return formats(undefined, undefined);
    }
  })();
  return (time, form = 'whole') => made[form].format(time);
}
