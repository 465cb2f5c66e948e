export interface TerminalFrame {
  /** Lines with escape sequences. */
  readonly text: string;
  /** How long the frame is shown. */
  readonly ms: number;
}

export interface TerminalRecording {
  readonly frames: readonly TerminalFrame[];
  readonly columns: number;
  readonly rows: number;
  readonly title: string;
}

/** Returns the frames as one SVG. */
export function terminalPicture(recording: TerminalRecording): string;
