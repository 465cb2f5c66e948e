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

/** Writes a time, in milliseconds since 1970, as people at the host write it. */
export type FormatTime = (time: number) => string;

export function timeFormat({ locale, timeZone }: Pick<HostContext, 'locale' | 'timeZone'>): FormatTime {
  const styles = { dateStyle: 'medium', timeStyle: 'medium' } as const;
  try {
    return new Intl.DateTimeFormat(locale, { ...styles, ...(timeZone !== undefined && { timeZone }) }).format;
  } catch {
    // A locale or time zone that this browser does not know.
    return new Intl.DateTimeFormat(undefined, styles).format;
  }
}
