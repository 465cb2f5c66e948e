import type { Writable } from 'node:stream';
import { type SafeText, words } from '../util/safe-text.js';
import { columnsOf, shortened } from './layout.js';

/** A line on a terminal that moves while a call takes long. */
export interface Spinner {
  /** Replaces the text of the line. */
  say(text: SafeText): void;
  /** Erases the line. `say` starts it again. */
  stop(): void;
}

/** Moves to the beginning of the line and erases it. */
const beginningOfLine = '\r\x1b[K';
const frames = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const frameMs = 100;
const delayMs = 300;

/** Draws a spinner after `delayMs` milliseconds, so that fast calls show none. In a file or pipe, it draws nothing. */
export function createSpinner(screen: Writable & { readonly isTTY?: boolean; readonly columns?: number }): Spinner {
  let text = words('');
  let timer: NodeJS.Timeout | undefined;
  let frame = 0;
  const draw = () => {
    frame += 1;
    const line = `${frames[frame % frames.length]} ${text}`;
    // A line that is wider than the screen would be broken into two, of which only the second could be erased.
    screen.write(`${beginningOfLine}${shortened(line, columnsOf(screen) - 1)}`);
  };
  const start = () => {
    timer = setTimeout(() => {
      draw();
      timer = setInterval(draw, frameMs).unref();
    }, delayMs).unref();
  };
  return {
    say: (newText) => {
      text = newText;
      if (screen.isTTY === true && timer === undefined) start();
    },
    stop: () => {
      clearTimeout(timer);
      timer = undefined;
      if (frame > 0) screen.write(beginningOfLine);
      frame = 0;
    },
  };
}
