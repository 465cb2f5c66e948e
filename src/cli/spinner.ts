import { type SafeText, words } from '../util/safe-text.js';
import { columnsOf, type Screen, shortened } from './layout.js';

/** An animated line at a terminal, which shows that a call is still running. */
export interface Spinner {
  /** Replaces the text of the line, and starts the spinner if it is stopped. */
  say(text: SafeText): void;
  /** Stops the animation and erases the line. */
  stop(): void;
}

/** Moves the cursor to the beginning of the line and erases the line. */
const eraseLine = '\r\x1b[K';
const frames = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const frameMs = 100;
/** The first frames are not drawn, so that fast calls show no spinner. */
const firstDrawnFrame = 3;

/** Creates a spinner. It appears only in a terminal, and never in a file or pipe. */
export function createSpinner(screen: Screen): Spinner {
  let text = words('');
  /** Undefined while the spinner is stopped. */
  let timer: NodeJS.Timeout | undefined;
  /** Number of frames since the start. */
  let frame = 0;

  const draw = () => {
    frame += 1;
    if (frame < firstDrawnFrame) return;
    const line = `${frames[frame % frames.length]} ${text}`;
    // The terminal would break a line that is wider than the screen, and then only its last part would be erased.
    screen.write(`${eraseLine}${shortened(line, columnsOf(screen) - 1)}`);
  };
  return {
    say: (newText) => {
      text = newText;
      if (screen.isTTY) timer ??= setInterval(draw, frameMs).unref();
    },
    stop: () => {
      clearInterval(timer);
      timer = undefined;
      if (frame >= firstDrawnFrame) screen.write(eraseLine);
      frame = 0;
    },
  };
}
