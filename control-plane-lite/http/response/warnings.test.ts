import { describe, expect, test } from 'vitest';
import { formatWarnings } from './warnings.ts';

describe('formatWarnings', () => {
  test.each([
    [[], ''],
    [['a'], '299 - "a"'],
    [['a', 'b', 'a'], '299 - "a", 299 - "b"'],
    [['say "x" \\ y'], '299 - "say \\"x\\" \\\\ y"'],
    [['two\r\nlines: \u0000'], '299 - "two lines:  "'],
  ])('of %j', (texts, header) => {
    expect(formatWarnings(texts)).toBe(header);
  });

  test('writes other scripts as bytes of UTF-8', () => {
    const header = formatWarnings(['naïve 日本']);
    expect(header).toMatch(/^[\t\u0020-\u007e\u0080-\u00ff]*$/);
    expect(Buffer.from(header, 'latin1').toString('utf8')).toBe('299 - "naïve 日本"');
  });

  test('cuts long texts when there is too much of them, and leaves the last out', () => {
    const texts = Array.from({ length: 30 }, (_, index) => `${index} `.padEnd(1000, 'x'));
    const shown = formatWarnings(texts).split(', ');
    expect(shown).toHaveLength(16);
    expect(shown[0]).toBe(`299 - "${'0 '.padEnd(256, 'x')}"`);
  });

  test('keeps a single long text that fits', () => {
    expect(formatWarnings(['x'.repeat(4000)])).toHaveLength(4000 + 8);
  });
});
