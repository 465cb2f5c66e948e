import { type Decision, type Event, isChange } from './record.js';

/** A scripted person, who gives the task, answers in the chat, and decides on questions of the server. */
export interface Person {
  readonly task: string;
  /** Answers in the chat. Each is given once: the first that fits what the model said. */
  readonly lines: readonly Line[];
  /** Said if the model asks something that no line answers. */
  readonly otherwise: Otherwise;
  /** Decides on a question that the client shows. Without it, the client cannot ask. */
  readonly decides?: (message: string) => Decision;
  /** The last question: how it ended. Absent where nothing was to be changed. */
  readonly closing?: string;
}

/** Each is said once. */
export interface Otherwise {
  /** Before a change was sent or asked about. It is no consent. */
  readonly early: string;
  /** After that. */
  readonly late: string;
}

export interface Line {
  readonly when: (text: string, events: readonly Event[]) => boolean;
  readonly say: string;
  /** True for the line before which no change may be sent: consent, or a choice that is the person's. */
  readonly permits?: true;
}

/** Fits any text after a change was sent. */
export const afterChange: Line['when'] = (_text, events) => events.some(isChange);

/** Fits a text that holds all of these, before a change was sent. */
export const saysBefore =
  (...patterns: readonly RegExp[]): Line['when'] =>
  (text, events) =>
    !events.some(isChange) && patterns.every((pattern) => pattern.test(text));

/** Fits any text once the person has said this. */
export const afterSaying =
  (said: string): Line['when'] =>
  (_text, events) =>
    events.some((event) => event.kind === 'person' && event.text === said);

const asks = (text: string) => /[?？]\s*[*_"')\]]*\s*$/.test(text.trim());

/** What a person says next. */
export interface Answer {
  readonly kind: 'line' | 'otherwise' | 'closing';
  readonly text: string;
  readonly permits: boolean;
}

/** Gives what the person says to a text; undefined once they have nothing more to say. Each thing is said once, so that a conversation ends. */
export function createPerson({ lines, otherwise, closing }: Person) {
  const left = [...lines];
  const others = new Map(Object.entries(otherwise));
  let isClosed = false;
  return (text: string, events: readonly Event[]): Answer | undefined => {
    if (isClosed) return undefined;
    const index = left.findIndex(({ when }) => when(text, events));
    const [line] = index < 0 ? [] : left.splice(index, 1);
    if (line !== undefined) return { kind: 'line', text: line.say, permits: line.permits === true };
    const stage = events.some((event) => event.kind === 'question' || isChange(event)) ? 'late' : 'early';
    const other = others.get(stage);
    if (asks(text) && other !== undefined) {
      others.delete(stage);
      return { kind: 'otherwise', text: other, permits: false };
    }
    isClosed = true;
    return closing === undefined ? undefined : { kind: 'closing', text: closing, permits: false };
  };
}
