/** Plain tables for the terminal. Pure. */

const GAP = '   ';

/** Rows under headings, columns as wide as their widest cell, the last one not padded. Cells are made printable. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columnWidths([headings, ...rows]);
  return [headings, ...rows].map((row) => formatRow(row, widths)).join('');
}

/** Widths of the columns that fit all the rows. */
export function columnWidths(rows: readonly (readonly string[])[]): readonly number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, textWidth(printable(cell)));
    }
  }
  return widths;
}

/** One line of a table with a line break; a cell wider than its column pushes the others on. */
export function formatRow(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, index) => {
    const text = printable(cell);
    return text + ' '.repeat(Math.max(0, (widths[index] ?? 0) - textWidth(text)));
  });
  return `${cells.join(GAP).trimEnd()}\n`;
}

/** Columns of a terminal that the text takes, wide characters not counted as such. */
const textWidth = (text: string): number => Array.from(text).length;

// oxlint-disable-next-line no-control-regex -- control characters are what this finds
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** The text on one line with its control characters spelled out: what a container wrote must not steer the terminal. */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
