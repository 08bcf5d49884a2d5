/** Checks that the program reads every setting of the API server: one that nothing reads would be accepted without
 *  effect. Flags without effect are in a table of their own, with the reason. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { IGNORED_FLAGS } from '#plane/config/ignored.ts';
import { SETTINGS } from '#plane/config/settings.ts';

const ROOT = join(import.meta.dirname, '..', 'control-plane-lite');

/** Files that declare and parse settings. */
const DECLARES = /^config\/(?:groups|values|file|ignored|settings)/;

const sources: readonly (readonly [path: string, text: string])[] = readdirSync(ROOT, {
  recursive: true,
  encoding: 'utf8',
})
  .filter((path) => path.endsWith('.ts') && !/\.(?:test|fixture)\.ts$/.test(path) && !DECLARES.test(path))
  .map((path) => [
    path,
    readFileSync(join(ROOT, path), 'utf8').replaceAll(/\/\*\*[\s\S]*?\*\/|\/\/ .*/g, ''),
  ]);

const readersOf = (key: string): readonly string[] => {
  const pattern = new RegExp(`(?:onfig|settings)\\??\\.${key}\\b|[{,]\\s*${key}\\b\\s*[,:}=]|'${key}'`);
  return sources.filter(([, text]) => pattern.test(text)).map(([path]) => path);
};

/** Only one version exists: the parser rejects any other. */
const ONE_VALUE: ReadonlySet<string> = new Set(['auditLogVersion', 'auditWebhookVersion']);

test.each(Object.keys(SETTINGS).filter((key) => !ONE_VALUE.has(key)))(
  'the server reads the setting %s',
  (key) => {
    expect(readersOf(key)).not.toEqual([]);
  },
);

test('a setting that nothing reads would be found', () => {
  expect(readersOf('noSuchSetting')).toEqual([]);
});

test.each([...IGNORED_FLAGS])('--%s says why it has no effect', (_, { state, why }) => {
  expect([state, why.length > 10]).toEqual(['ignored', true]);
});
