/** The policy for dependencies: the repository's own lock file, and a lock file with one fault each. */
import { describe, expect, test } from 'vitest';
import { repositoryLock, repositoryPolicy } from './check.ts';
import { compareVersions, type Dependency, readLock, readPolicy, violations } from './policy.ts';

const policy = repositoryPolicy();
const NOTHING = /^$/;
const SOUND: Dependency = { name: 'sound', version: '1.0.0', licence: 'MIT', hasInstallScript: false };

test('the repository keeps its own policy', () => {
  expect(repositoryLock().length).toBeGreaterThan(100);
  expect(violations(repositoryLock(), policy)).toEqual([]);
});

test('every exception and allowed script still has its package', () => {
  const names = repositoryLock().map(({ name }) => name);
  const isUsed = (key: string): boolean =>
    names.some((name) => (key.endsWith('*') ? name.startsWith(key.slice(0, -1)) : name === key));
  const allowed = [...Object.keys(policy.licenceExceptions), ...Object.keys(policy.installScripts)];
  expect(allowed.filter((key) => !isUsed(key))).toEqual([]);
});

describe('rejected dependencies', () => {
  test.each<readonly [string, Partial<Dependency>, RegExp]>([
    ['a sound one', {}, NOTHING],
    ['the last version with a vulnerability', { name: 'ws', version: '8.17.0' }, /CVE-2024-37890.*8\.17\.1/],
    ['the version that fixes it', { name: 'ws', version: '8.17.1' }, NOTHING],
    ['another range of the same advisory', { name: 'ws', version: '7.5.9' }, /CVE-2024-37890/],
    ['a licence that is not approved', { licence: 'AGPL-3.0' }, /AGPL-3\.0/],
    ['a choice with an approved one', { licence: '(MIT OR AGPL-3.0)' }, NOTHING],
    ['approved only in part', { licence: '(MIT AND AGPL-3.0)' }, /AGPL-3\.0/],
    ['no licence', { licence: 'none' }, /none/],
    ['an excepted package under another licence', { name: 'lightningcss', licence: 'SSPL-1.0' }, /SSPL/],
    ['an install script', { hasInstallScript: true }, /script/],
    ['an allowed install script', { name: 'koffi', hasInstallScript: true }, NOTHING],
  ])('%s', (_, fault, expected) => {
    const found = violations([{ ...SOUND, ...fault }], policy);
    expect(found.join('\n')).toMatch(expected);
  });
});

test.each([
  ['1.2.3', '1.2.3', 0],
  ['1.2.3', '1.2.4', -1],
  ['1.10.0', '1.9.9', 1],
  ['2.0.0', '10.0.0', -1],
  ['2.0.0-beta.2', '2.0.0', 0],
  ['1.2', '1.2.0', 0],
])('%s compared with %s', (left, right, sign) => {
  expect(Math.sign(compareVersions(left, right))).toBe(sign);
});

test('files of another form are rejected with the place', () => {
  expect(() => readLock({})).toThrow('package-lock.json: packages must be an object');
  expect(() => readPolicy({ licenceExceptions: {}, installScripts: {} })).toThrow('licences must be a list');
  const advisories = [{ id: 'X', package: 'p', introduced: '1.0.0' }];
  expect(() => readPolicy({ licences: [], licenceExceptions: {}, installScripts: {}, advisories })).toThrow(
    'fixed must be a text',
  );
});

test('nested packages have the name of the last folder', () => {
  const packages = { '': {}, 'node_modules/a/node_modules/@s/b': { version: '1.0.0', license: 'MIT' } };
  expect(readLock({ packages })).toEqual([
    { name: '@s/b', version: '1.0.0', licence: 'MIT', hasInstallScript: false },
  ]);
});
