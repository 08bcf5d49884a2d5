/** Enforces one implementation of the guards for parsed objects and system errors: `api-machinery/kit/object.ts` and
 *  `api-machinery/kit/errno.ts`. Copies drift: one did not exclude lists. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const ROOT = new URL('../', import.meta.url).pathname;
const FOLDERS = ['agent', 'api-machinery', 'control-plane-lite', 'cri-proto', 'eviction', 'volumes'];
const FREE: ReadonlySet<string> = new Set(
  ['object', 'errno', 'clock'].map((name) => `api-machinery/kit/${name}.ts`),
);

const COPIES: readonly RegExp[] = [
  /typeof \w+ === 'object' && \w+ !== null && !Array\.isArray\(/,
  /'code' in (\w+) && (typeof \1\.code === 'string'|\1\.code === ')/,
  /NodeJS\.ErrnoException\)\.code/,
  /instanceof Error \? (\w+) : new Error\(String\(\1\)\)/,
];

const isCopy = (source: string): boolean => COPIES.some((pattern) => pattern.test(source));

describe('guards for unknown values', () => {
  test('are not implemented again', () => {
    const files = FOLDERS.flatMap((folder) =>
      readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
        .filter((name) => /(?<!\.test)\.ts$/.test(name))
        .map((name) => `${folder}/${name}`),
    ).filter((path) => !FREE.has(path));
    expect(files.length).toBeGreaterThan(1000);
    expect(files.filter((path) => isCopy(readFileSync(ROOT + path, 'utf8')))).toEqual([]);
  });

  test.each([
    "const isRecord = (value: unknown) =>\n  typeof value === 'object' && value !== null && !Array.isArray(value);",
    "thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT'",
    "'code' in error && typeof error.code === 'string' ? error.code : ''",
    "(error as NodeJS.ErrnoException).code === 'ENOENT'",
    'thrown instanceof Error ? thrown : new Error(String(thrown))',
  ])('a copy is found: %s', (source) => expect(isCopy(source)).toBe(true));
});
