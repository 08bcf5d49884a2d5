import { expect, test } from 'vitest';
import { createAr } from './ar.ts';

test('members are aligned to two bytes', () => {
  const archive = createAr(
    [
      { name: 'a', content: Buffer.from('odd') },
      { name: 'b', content: Buffer.from('even') },
    ],
    7,
  ).toString();
  const header = (name: string, size: number): string =>
    `${name.padEnd(16)}${'7'.padEnd(12)}0     0     100644  ${String(size).padEnd(10)}\`\n`;
  expect(archive).toBe(`!<arch>\n${header('a', 3)}odd\n${header('b', 4)}even`);
});

test('a long name is rejected', () => {
  expect(() => createAr([{ name: 'a'.repeat(16), content: Buffer.alloc(0) }], 0)).toThrow(RangeError);
});
