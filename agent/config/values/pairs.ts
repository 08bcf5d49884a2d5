/** Splits `name=value,name=value` and similar texts, with the character position of each error. */
import { type Parsed, unlessErrors, type ValueError } from './parsed.ts';

/** One pair; `at` and `valueAt` are the 1-based characters where name and value start. */
export interface Pair {
  readonly name: string;
  readonly value: string;
  readonly at: number;
  readonly valueAt: number;
}

export interface PairSyntax {
  /** Separator between name and value. */
  readonly separator: string;
  /** A valid example, for messages. */
  readonly example: string;
  /** Names may be repeated, as those of HTTP headers. */
  readonly repeats?: true;
}

/** An error at a character of the text. */
export function errorAt(text: string, at: number, detail: string): ValueError {
  return { kind: 'FieldValueInvalid', path: '', badValue: text, detail: `at character ${at}: ${detail}` };
}

function readPair(part: string, offset: number, syntax: PairSyntax): Pair | { at: number; detail: string } {
  const lead = part.length - part.trimStart().length;
  const at = offset + lead + 1;
  const trimmed = part.trim();
  const { separator, example } = syntax;
  if (trimmed === '') return { at, detail: `an entry is missing here; write ${example}` };
  const split = trimmed.indexOf(separator);
  if (split < 0) return { at, detail: `"${trimmed}" has no "${separator}"; write ${example}` };
  const name = trimmed.slice(0, split).trim();
  const rest = trimmed.slice(split + separator.length);
  const valueAt = at + split + separator.length + (rest.length - rest.trimStart().length);
  return name === ''
    ? { at, detail: `the name before "${separator}" is missing; write ${example}` }
    : { name, value: rest.trim(), at, valueAt };
}

/** Result of splitting: the valid pairs, and the errors of the others. */
export interface SplitPairs {
  readonly pairs: readonly Pair[];
  readonly errors: readonly ValueError[];
}

/** Splits one text at its commas; an empty text has no pairs. */
export function splitPairs(text: string, syntax: PairSyntax): SplitPairs {
  const pairs: Pair[] = [];
  const errors: ValueError[] = [];
  const seen = new Set<string>();
  let offset = 0;
  for (const part of text.trim() === '' ? [] : text.split(',')) {
    const read = readPair(part, offset, syntax);
    offset += part.length + 1;
    if ('detail' in read) {
      errors.push(errorAt(text, read.at, read.detail));
    } else if (seen.has(read.name) && syntax.repeats === undefined) {
      const detail = `${read.name} is a duplicate; specify it once`;
      errors.push({ ...errorAt(text, read.at, detail), kind: 'FieldValueDuplicate' });
    } else {
      seen.add(read.name);
      pairs.push(read);
    }
  }
  return { pairs, errors };
}

/** Reads every occurrence of a flag; the last occurrence of a name wins.
 *  `readValue` reads one value, whose errors get its character position. */
export function readPairs<T>(
  texts: readonly string[],
  syntax: PairSyntax,
  readValue: (value: string, name: string) => Parsed<T>,
): Parsed<readonly (readonly [string, T])[]> {
  const entries: (readonly [string, T])[] = [];
  const errors: ValueError[] = [];
  for (const text of texts) {
    const split = splitPairs(text, syntax);
    errors.push(...split.errors);
    for (const { name, value, valueAt } of split.pairs) {
      const read = readValue(value, name);
      if (read.kind === 'ok') entries.push([name, read.value]);
      else errors.push(...read.errors.map(({ detail }) => errorAt(text, valueAt, `${name}: ${detail}`)));
    }
  }
  return unlessErrors(errors, entries);
}
