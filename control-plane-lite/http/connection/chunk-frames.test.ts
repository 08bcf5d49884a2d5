import { describe, expect, test } from 'vitest';
import { createFramer } from './chunk-frames.ts';

describe('createFramer', () => {
  test.each([
    ['a', '1\r\na\r\n'],
    ['\r\n', '2\r\n\r\n\r\n'],
    ['é'.repeat(150), `12c\r\n${'é'.repeat(150)}\r\n`],
  ])('frames %j', (text, chunk) => {
    expect(createFramer()(Buffer.from(text)).toString()).toBe(chunk);
  });

  test('frames a buffer once, and each by its content', () => {
    const frame = createFramer();
    const [one, other] = [Buffer.from('x'), Buffer.from('x')];
    expect(frame(one)).toBe(frame(one));
    expect(frame(other)).not.toBe(frame(one));
    expect(frame(other)).toEqual(frame(one));
  });
});
