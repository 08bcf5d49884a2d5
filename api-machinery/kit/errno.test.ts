import { open } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { codeOrName, errorCode, hasCode, unlessCode } from './errno.ts';

const missing = (): Promise<unknown> => open('/does/not/exist');
const caught = async (): Promise<unknown> => missing().catch((thrown: unknown) => thrown);

test('the code of a system error', async () => {
  const error = await caught();
  expect(errorCode(error)).toBe('ENOENT');
  expect(hasCode(error, 'ENOTDIR', 'ENOENT')).toBe(true);
  expect(hasCode(error, 'EACCES')).toBe(false);
  expect(codeOrName(error)).toBe('ENOENT');
});

test('any other thrown value has no code', () => {
  const numbered = Object.assign(new Error('call failed'), { code: 5 });
  expect([numbered, new TypeError('a'), 'ENOENT', undefined].map(errorCode)).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
  expect(hasCode(new Error('a'))).toBe(false);
  expect(codeOrName(new TypeError('a'))).toBe('TypeError');
});

test('ignores the given codes only', async () => {
  expect(await unlessCode(['ENOENT'], missing)).toBe(false);
  expect(await unlessCode([], () => Promise.resolve())).toBe(true);
  await expect(unlessCode(['EACCES'], missing)).rejects.toThrow('ENOENT');
});
