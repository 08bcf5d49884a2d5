/** Enforces one rule for listeners: they are stored and called by `api-machinery/kit/listeners.ts`, so
 *  that a throwing listener never prevents another from being called. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const ROOT = new URL('../', import.meta.url).pathname;
const FOLDERS = ['agent', 'api-machinery', 'control-plane-lite', 'cri-proto', 'eviction', 'volumes'];
/** Files used by tests, and the rule itself. */
const FREE = /\.test\.ts$|\.fixture\.ts$|\/testing\/|\/fake\/|\/gen\/|kit\/listeners(\.test)?\.ts$/;

/** Sets and maps of functions, and loops that call members named like listeners. */
const BY_HAND: readonly RegExp[] = [
  /new Set<\([^\n]*\) => (void|unknown)>/,
  /new Map<[^\n]*Set<\([^\n]*\) => (void|unknown)>/,
  /\b\w*[lL]isteners\w*(: [^\n=]*)? = new (Set|Map)\b(?!<[^\n]*Listeners\b)/,
  /for \(const (\w*([lL]istener|[sS]ubscriber|[oO]bserver)) of [^\n]*\)\s*(\{\s*(try \{\s*)?)?\1\(/,
  /\w*[lL]isteners\w*\.forEach\(/,
];

const byHand = (source: string): boolean => BY_HAND.some((pattern) => pattern.test(source));

function sourceFiles(): readonly string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  ).filter((path) => !FREE.test(path));
}

describe('listeners', () => {
  test('are never stored or called by hand', () => {
    const files = sourceFiles();
    expect(files.length).toBeGreaterThan(1000);
    expect(files.filter((path) => byHand(readFileSync(ROOT + path, 'utf8')))).toEqual([]);
  });

  test.each([
    'const listeners = new Set<() => void>();',
    'const waiting = new Map<string, Set<(found: Thing) => void>>();',
    'for (const listener of listeners) listener(value);',
    'for (const listener of all) {\n  try {\n    listener(value);',
    'listeners.forEach((listener) => listener());',
    'readonly #podListeners = new Set();',
  ])('stored by hand are found: %s', (source) => expect(byHand(source)).toBe(true));

  test.each([
    "const listeners = createListeners<[value: Value]>('values');",
    'for (const listener of all) callListener(name, listener, value);',
  ])('of the kit are not: %s', (source) => expect(byHand(source)).toBe(false));
});
