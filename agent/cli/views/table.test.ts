import { describe, expect, test } from 'vitest';
import { columnWidths, formatRow, formatTable, printable } from './table.ts';

describe('formatTable', () => {
  test('makes columns as wide as their widest cell and leaves no blanks at the ends', () => {
    const rows = [
      ['web', '1/1', ''],
      ['a-long-name', '0/1', 'x'],
    ];
    expect(formatTable(['NAME', 'READY', 'IP'], rows)).toBe(
      'NAME          READY   IP\nweb           1/1\na-long-name   0/1     x\n',
    );
  });

  test('counts characters, not their halves', () => {
    expect(formatTable(['A', 'B'], [['🙂', 'x']])).toBe('A   B\n🙂   x\n');
  });

  test('escapes control characters and line breaks in a cell', () => {
    const text = formatTable(['A'], [['\u001b[2Jgone\nroot\u009b']]);
    expect(text).toBe('A\n\\x1b[2Jgone\\nroot\\x9b\n');
  });
});

describe('formatRow', () => {
  test('lets a wide cell shift the others', () => {
    const widths = columnWidths([['ab', 'c']]);
    expect(formatRow(['abcd', 'e'], widths)).toBe('abcd   e\n');
  });
});

describe('printable', () => {
  test('leaves ordinary text of any script alone', () => {
    expect(printable('größer, 大, “x”')).toBe('größer, 大, “x”');
  });
});
