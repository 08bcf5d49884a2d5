import { describe, expect, test } from 'vitest';
import {
  booleanParameter,
  integerParameter,
  parseDryRun,
  parseFieldManager,
  parseFieldValidation,
  parseSelectors,
} from './read-request.ts';

const query = (text: string): URLSearchParams => new URLSearchParams(text);
const reasonOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return (error as { reason: string; message: string }).reason;
  }
  return 'none';
};

describe('booleanParameter', () => {
  test.each([
    ['', false],
    ['watch', true],
    ['watch=1', true],
    ['watch=true', true],
    ['watch=0', false],
    ['watch=false', false],
  ])('%s is %s', (text, expected) => {
    expect(booleanParameter(query(text), 'watch')).toBe(expected);
  });
  test('rejects other words', () => {
    expect(reasonOf(() => booleanParameter(query('watch=maybe'), 'watch'))).toBe('BadRequest');
  });
});

describe('integerParameter', () => {
  test.each([
    ['', undefined],
    ['limit=', undefined],
    ['limit=0', 0],
    ['limit=500', 500],
    ['limit=-3', -3],
  ])('%s is %s', (text, expected) => {
    expect(integerParameter(query(text), 'limit')).toBe(expected);
  });
  test.each(['1.5', '0x10', '1e3', 'x', '99999999999999999999', ' 1'])('rejects %s', (text) => {
    expect(reasonOf(() => integerParameter(query(`limit=${text}`), 'limit'))).toBe('BadRequest');
  });
});

describe('parseDryRun', () => {
  test.each([
    [[], false],
    [[''], false],
    [['All'], true],
  ])('%j is %s (4.8)', (values, expected) => {
    expect(parseDryRun(values, 'CreateOptions')).toBe(expected);
  });
  test('rejects other values', () => {
    expect(reasonOf(() => parseDryRun(['Server'], 'CreateOptions'))).toBe('Invalid');
  });
});

describe('parseFieldManager', () => {
  test('is the client’s', () => {
    expect(parseFieldManager(query('fieldManager=me'), 'kubectl/v1', 'PatchOptions')).toBe('me');
  });
  test.each([
    ['curl/8.1', 'curl'],
    [undefined, 'unknown'],
    ['', 'unknown'],
    [`${'x'.repeat(300)}/1`, 'x'.repeat(128)],
  ])('is the product of user agent %s otherwise', (agent, expected) => {
    expect(parseFieldManager(query(''), agent, 'PatchOptions')).toBe(expected);
  });
  test.each(['x'.repeat(129), 'a%00b', 'a%0Ab'])('rejects %s', (text) => {
    expect(reasonOf(() => parseFieldManager(query(`fieldManager=${text}`), 'c', 'PatchOptions'))).toBe(
      'Invalid',
    );
  });
});

describe('parseFieldValidation', () => {
  test('warns by default', () => {
    expect(parseFieldValidation(query(''), 'CreateOptions')).toBe('Warn');
    expect(parseFieldValidation(query('fieldValidation=Strict'), 'CreateOptions')).toBe('Strict');
    expect(reasonOf(() => parseFieldValidation(query('fieldValidation=strict'), 'CreateOptions'))).toBe(
      'Invalid',
    );
  });
});

describe('parseSelectors', () => {
  test('reads both', () => {
    const found = parseSelectors(query('labelSelector=a%3Db&fieldSelector=metadata.name%3Dx'));
    expect(found.labels).toHaveLength(1);
    expect(found.fields).toEqual([{ field: 'metadata.name', equal: true, value: 'x' }]);
  });
  test.each(['labelSelector=a b', 'fieldSelector=x', `labelSelector=${'a'.repeat(20_000)}`])(
    'refuses %.30s',
    (text) => {
      expect(reasonOf(() => parseSelectors(query(text)))).toBe('BadRequest');
    },
  );
});
