/** The icon of ui/page/icon.svg. */
const svg =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>cloudops-mcp</title>' +
  '<rect width="32" height="32" rx="7" fill="#1d4ed8"/>' +
  '<path d="M9.8 22a4.2 4.2 0 0 1-1-8.3 6.1 6.1 0 0 1 11.9-1.1A4.7 4.7 0 1 1 21 22Z" fill="#fff"/>' +
  '<path d="m11.5 16.4 3 3 5.4-6" fill="none" stroke="#16a34a" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/>' +
  '</svg>';

export const serverIcon = {
  src: `data:image/svg+xml,${encodeURIComponent(svg)}`,
  mimeType: 'image/svg+xml',
  sizes: ['any'],
};
