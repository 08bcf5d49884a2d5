/** Formats plain tables for the terminal. Pure. */

const GAP = '   ';

/** Formats rows under headings. Columns are as wide as their widest cell, the last one is not padded. Cells
 *  are made printable. */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  paint?: PaintCell,
): string {
  const widths = columnWidths([headings, ...rows]);
  const paintRow: PaintRow | undefined =
    paint === undefined ? undefined : (text, index) => paint(headings[index] ?? '', text);
  return formatRow(headings, widths) + rows.map((row) => formatRow(row, widths, paintRow)).join('');
}

/** Returns the text with colors; the text itself stays the same. */
export type PaintCell = (heading: string, text: string) => string;
type PaintRow = (text: string, column: number) => string;

/** Returns the column widths that fit all rows. */
export function columnWidths(rows: readonly (readonly string[])[]): readonly number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, textWidth(printable(cell)));
    }
  }
  return widths;
}

/** Formats one table line with a line break; a cell wider than its column shifts the others. */
export function formatRow(row: readonly string[], widths: readonly number[], paint?: PaintRow): string {
  const cells = row.map((cell, index) => {
    const text = printable(cell);
    return (paint?.(text, index) ?? text) + ' '.repeat(Math.max(0, (widths[index] ?? 0) - textWidth(text)));
  });
  return `${cells.join(GAP).trimEnd()}\n`;
}

/** Number of terminal columns of the text, without support for wide characters. */
const textWidth = (text: string): number => Array.from(text).length;

// oxlint-disable-next-line no-control-regex -- control characters are what this finds
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** Returns the text on one line with control characters escaped: container output must not control the
 *  terminal. */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
