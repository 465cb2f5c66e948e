import * as z from 'zod';
import { sentenceCase } from '../../util/human.js';
import { stepsOf } from '../../util/objects.js';
import { defined, replaced, type SafeText } from '../../util/safe-text.js';

/** The fields of a schema in words for people. A field's `title` says what it is called, and otherwise its own name does. */
export interface FieldNames {
  /** `adminCluster.controlPlane.volumeType` as `control plane's disk type`; undefined where the schema has no such field. */
  of(path: string): string | undefined;
  /** A sentence in which words stand for the paths in it. What it quotes stays as it is. */
  in(sentence: SafeText): SafeText;
}

/** @param schema of an operation's arguments */
export function fieldNames(schema: z.core.$ZodType): FieldNames {
  const of = (path: string) => nameAt(schema, path);
  return {
    of,
    in: (sentence) =>
      replaced(sentence, quotedOrPath, (found, before) => {
        const name = looksLikePath.test(found) ? (of(found) ?? nameInside(schema, found)) : undefined;
        if (name === undefined) return undefined;
        const words = /\d$/.test(name) || article.test(before) ? name : `the ${name}`;
        return defined(before === '' || /[.!?] $/.test(before) ? sentenceCase(words) : words);
      }),
  };
}

const quotedOrPath = /"(?:[^"\\]|\\.)*"|[A-Za-z]\w*(?:\[\d+\]|\.[A-Za-z]\w*)*/g;

/** A name of one word, such as `version`, is a word of the sentence as well. */
const looksLikePath = /^[A-Za-z]\w*[.[A-Z]/;

const article = /\b(?:the|an?|its|no) $/i;

/** The last field of a path, and the one that it belongs to. */
function nameAt(schema: z.core.$ZodType, path: string): string | undefined {
  let at = schema;
  const names: string[] = [];
  for (const step of stepsOf(path)) {
    const next = stepInto(innermost(at), step);
    if (next === undefined) return undefined;
    const title = titleOf(next);
    if (typeof step === 'string') names.push(title ?? nameInWords(step));
    // An element stands for itself: the list has its name.
    else names.splice(0, names.length, `${title ?? names.at(-1) ?? ''} ${step + 1}`.trim());
    at = next;
  }
  const [last, owner] = names.reverse();
  return owner === undefined ? last : `${owner}'s ${last}`;
}

/** The name of a field at any depth, where a sentence has named before what it belongs to. */
function nameInside(schema: z.core.$ZodType, field: string): string | undefined {
  const inner = innermost(schema);
  if (inner instanceof z.ZodArray) return nameInside(inner.element, field);
  if (!(inner instanceof z.ZodObject)) return undefined;
  const own = stepInto(inner, field);
  if (own !== undefined) return titleOf(own) ?? nameInWords(field);
  return Object.values(inner.shape)
    .map((one) => nameInside(one, field))
    .find((name) => name !== undefined);
}

function stepInto(schema: z.core.$ZodType, step: string | number): z.core.$ZodType | undefined {
  if (typeof step === 'number') return schema instanceof z.ZodArray ? schema.element : undefined;
  return schema instanceof z.ZodObject && Object.hasOwn(schema.shape, step) ? schema.shape[step] : undefined;
}

/** The schema in another that says whether a value may be absent, or how it is read. */
function within(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional) return schema.unwrap();
  return schema instanceof z.ZodPipe ? schema.out : undefined;
}

function innermost(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = within(schema);
  return inner === undefined ? schema : innermost(inner);
}

function titleOf(schema: z.core.$ZodType): string | undefined {
  const { title } = z.globalRegistry.get(schema) ?? {};
  const inner = within(schema);
  return title ?? (inner === undefined ? undefined : titleOf(inner));
}

const abbreviations: Readonly<Record<string, string>> = {
  id: 'ID',
  ids: 'IDs',
  ip: 'IP',
  url: 'URL',
  vip: 'VIP',
  cidr: 'CIDR',
  dns: 'DNS',
  ssh: 'SSH',
};

/** `firewallGroupId` as `firewall group ID`. */
export const nameInWords = (name: string): string =>
  name
    .split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_-]/)
    .map((word) => abbreviations[word.toLowerCase()] ?? word.toLowerCase())
    .join(' ');
