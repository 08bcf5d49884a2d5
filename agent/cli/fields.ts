/** Names and values below each other. Pure. */
import { printable } from './table.ts';

/** A value of several lines stands below each other; without a value the field is left out. */
export type Field = readonly [name: string, value: string | readonly string[] | undefined];

const NAME_WIDTH = 17;

/** `Name:            web`; values are made printable. */
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

/** Each line of the text moved to the right by two. */
export const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');
