/** Formats aligned name-value fields. Pure. */
import { printable } from './table.ts';

/** Lines of a value are aligned below each other; a field without a value is omitted. */
export type Field = readonly [name: string, value: string | readonly string[] | undefined];

const NAME_WIDTH = 17;

/** Formats `Name:            web`; values are made printable. */
export function fieldLines(fields: readonly Field[]): string {
  return fields
    .map(([name, value]) => {
      const lines = (typeof value === 'string' ? [value] : (value ?? [])).filter((line) => line !== '');
      return lines
        .map((line, index) => `${(index === 0 ? `${name}:` : '').padEnd(NAME_WIDTH)}${printable(line)}\n`)
        .join('');
    })
    .join('');
}

/** Indents each line of the text by two. */
export const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');
