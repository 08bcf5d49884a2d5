/** Contract of a driver of a text reader, and hostile texts shared by several drivers. */

export interface Driver {
  readonly name: string;
  /** Files whose scanners it runs. */
  readonly covers: readonly string[];
  readonly run: (text: string) => unknown;
  /** Texts around the growing text, besides none. */
  readonly frames?: readonly (readonly [head: string, tail: string])[];
  /** Additional growing texts. */
  readonly pumps?: readonly string[];
  /** It reads none of the generated texts to the end. */
  readonly refusesAll?: boolean;
  /** Allowed nanoseconds per character in any case; 100 by default. */
  readonly fairNs?: number;
  /** Length limit, if longer texts are rejected before they are read; that of a request body by default. */
  readonly longest?: number;
}

/** Escapes for readers of JSON. */
export const STRING_PUMPS: readonly string[] = [
  '\\\\',
  '\\"',
  '\\u005c',
  '\\u0041',
  '\\u005b',
  '\\n',
  '\\\\":"',
  '"a":1,',
  '"\\\\":1,',
  '1,',
  '{"a":',
];

export const base64 = (text: string): string => Buffer.from(text).toString('base64url');
export const steps = (iterable: Iterable<unknown>): number => [...iterable].length;
