import { isObject } from '../util/objects.js';

/** `every` stands for all entries of a list. */
type Step = { readonly name: string } | { readonly index: number | 'every' };

/** Picks the parts of an answer at some paths, such as `Volumes[].VolumeId` or `Items[3].Text`. */
export const pickFields = (
  answer: Readonly<Record<string, unknown>>,
  paths: readonly string[],
): Record<string, unknown> => ({ ...Object(pick(answer, paths.map(stepsOf))) });

const stepsOf = (path: string): readonly Step[] =>
  [...path.matchAll(/\[(\d*)\]|[^.[\]]+/g)].map(([name, index]) => {
    if (index === undefined) return { name };
    return { index: index === '' ? 'every' : Number(index) };
  });

function pick(value: unknown, paths: readonly (readonly Step[])[]): unknown {
  if (paths.some(({ length }) => length === 0)) return value;
  if (Array.isArray(value)) {
    const picked = value.map((entry, index) =>
      pickInner(
        entry,
        paths.flatMap((path) => restInEntry(path, index)),
      ),
    );
    return picked.filter((entry) => entry !== undefined);
  }
  if (!isObject(value)) return undefined;
  const fields = Object.entries(value).map(([name, field]) => {
    const rests = paths.flatMap(([step, ...rest]) =>
      step !== undefined && 'name' in step && step.name === name ? [rest] : [],
    );
    return [name, pickInner(field, rests)] as const;
  });
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
}

const pickInner = (value: unknown, paths: readonly (readonly Step[])[]): unknown =>
  paths.length === 0 ? undefined : pick(value, paths);

function restInEntry(path: readonly Step[], index: number): readonly (readonly Step[])[] {
  const [step, ...rest] = path;
  // Without brackets, a name leads into every entry.
  if (step === undefined || 'name' in step) return [path];
  return step.index === 'every' || step.index === index ? [rest] : [];
}
