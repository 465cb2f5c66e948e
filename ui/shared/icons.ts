import { svgElement } from './elements.js';

/** SVG paths on a grid of 16 by 16. The icons have no names for screen readers, because each stands next to words with the same meaning. */
const paths = {
  cost: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 1.6a5.4 5.4 0 1 1 0 10.8A5.4 5.4 0 0 1 8 2.6Zm-.8 1.3v.8c-1.1.2-1.9 1-1.9 2 0 2.6 3.6 1.6 3.6 2.7 0 .4-.4.6-1 .6s-1.2-.3-1.6-.7l-.9 1c.5.5 1.1.8 1.8.9v.9h1.4v-.9c1.2-.2 2-1 2-2.1 0-2.6-3.6-1.7-3.6-2.6 0-.4.4-.6.9-.6s1 .2 1.4.5l.8-1c-.4-.4-1-.6-1.5-.7v-.8H7.2Z',
  oneWay: 'M8 1.2 15.3 14H.7L8 1.2Zm0 3.1L3.4 12.5h9.2L8 4.3Zm-.8 2.5h1.6v3H7.2v-3Zm0 3.7h1.6V12H7.2v-1.5Z',
  good: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm3.2 4.1-4.2 4.4-2.2-2.1-1.1 1.2 3.3 3.2 5.3-5.6-1.1-1.1Z',
  bad: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1ZM5.6 4.5 4.5 5.6 6.9 8l-2.4 2.4 1.1 1.1L8 9.1l2.4 2.4 1.1-1.1L9.1 8l2.4-2.4-1.1-1.1L8 6.9 5.6 4.5Z',
  unknown:
    'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm0 2.8c-1.6 0-2.7 1-2.8 2.4h1.6c.1-.6.5-1 1.2-1 .6 0 1.1.4 1.1.9 0 1.1-1.9 1.2-1.9 3h1.6c0-1.2 2-1.4 2-3.1 0-1.3-1.2-2.2-2.8-2.2Zm-.9 6.5v1.7h1.7v-1.7H7.1Z',
  nothing: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1ZM4.5 7.2v1.6h7V7.2h-7Z',
} as const;

export type IconName = keyof typeof paths;

export const icon = (name: IconName): SVGElement =>
  svgElement(
    'svg',
    { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' },
    svgElement('path', { d: paths[name], 'fill-rule': 'evenodd' }),
  );
