/** What a driver of a reader of texts is, and texts that hurt more than one of them. */

export interface Driver {
  readonly name: string;
  /** Files whose scanners it runs. */
  readonly covers: readonly string[];
  readonly run: (text: string) => unknown;
  /** What may stand around the text that grows, besides nothing. */
  readonly frames?: readonly (readonly [head: string, tail: string])[];
  /** More texts that grow, besides the usual ones. */
  readonly pumps?: readonly string[];
  /** No text made here is one that it reads to the end. */
  readonly refusesAll?: boolean;
  /** Nanoseconds that a character may take in any case; 100 unless given. */
  readonly fairNs?: number;
  /** Longest text; as long as a body unless given, where longer ones are refused before they are read. */
  readonly longest?: number;
}

/** What escapes may do to a reader of JSON. */
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
