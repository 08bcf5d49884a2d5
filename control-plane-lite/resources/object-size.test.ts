import { describe, expect, test } from 'vitest';
import { finish } from '#api/kit/steps.ts';
import { checkSizeSteps, checkStoredSize, MAX_OBJECT_BYTES } from './object-size.ts';

const tooLarge: unknown = expect.objectContaining({ code: 413, reason: 'RequestEntityTooLarge' });
const objectOf = (text: string): object => ({ data: { a: text } });
const room = MAX_OBJECT_BYTES - JSON.stringify(objectOf('')).length;

describe('the size of an object', () => {
  test('may be what etcd takes, and no byte more', () => {
    expect(() => checkStoredSize(Buffer.from(JSON.stringify(objectOf('x'.repeat(room)))))).not.toThrow();
    expect(() => finish(checkSizeSteps(objectOf('x'.repeat(room + 1))))).toThrow(tooLarge);
  });

  test('does not count escapes', () => {
    expect(() => finish(checkSizeSteps(objectOf('\n'.repeat(room))))).not.toThrow();
    expect(() => finish(checkSizeSteps(objectOf('\n'.repeat(room + 1))))).toThrow(tooLarge);
  });
});
