/** Unified diff of two texts, with three lines of context. Pure. */
import { diff } from 'node:util';

const CONTEXT = 3;
/** The comparison takes memory in proportion to the lines times the differences. */
const MOST_LINES = 20_000;

interface DiffLine {
  readonly sign: ' ' | '+' | '-';
  readonly text: string;
  /** Numbers of the next lines of both texts, from 1. */
  readonly left: number;
  readonly right: number;
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** Returns hunks with headings, or the empty text for equal texts. */
export function unifiedDiff(left: string, right: string): string {
  if (left === right) return '';
  const [a, b] = [linesOf(left), linesOf(right)];
  if (a.length + b.length > MOST_LINES) return `the texts differ (too long to compare line by line)\n`;
  const lines = numbered(diff(a, b));
  return hunks(lines).map(formatHunk).join('');
}

/** `diff` reports an operation per line: 1 for an added, -1 for a removed, 0 for a common line. */
function numbered(operations: readonly (readonly [number, string])[]): readonly DiffLine[] {
  const signs = operations.map(([operation]) => operation);
  // Which text `diff` calls the actual one is not part of its contract; its first text is removed here.
  let left = 1;
  let right = 1;
  return operations.map(([, text], index) => {
    const operation = signs[index] ?? 0;
    const sign = operation === 0 ? ' ' : operation > 0 ? '-' : '+';
    const line: DiffLine = { sign, text, left, right };
    if (sign !== '+') left += 1;
    if (sign !== '-') right += 1;
    return line;
  });
}

function hunks(lines: readonly DiffLine[]): readonly (readonly DiffLine[])[] {
  const found: DiffLine[][] = [];
  let end = -1;
  for (const [index, { sign }] of lines.entries()) {
    if (sign === ' ') continue;
    const from = Math.max(end, index - CONTEXT, 0);
    const to = Math.min(lines.length, index + CONTEXT + 1);
    const last = found.at(-1);
    if (last !== undefined && index - CONTEXT <= end) last.push(...lines.slice(Math.max(end, 0), to));
    else found.push(lines.slice(from, to));
    end = Math.max(end, to);
  }
  return found;
}

function formatHunk(lines: readonly DiffLine[]): string {
  const [first] = lines;
  const count = (sign: '+' | '-'): number =>
    lines.filter((line) => line.sign === ' ' || line.sign === sign).length;
  const [lefts, rights] = [count('-'), count('+')];
  const start = (line: number | undefined, size: number): number =>
    size === 0 ? (line ?? 1) - 1 : (line ?? 1);
  const heading = `@@ -${start(first?.left, lefts)},${lefts} +${start(first?.right, rights)},${rights} @@\n`;
  return heading + lines.map(({ sign, text }) => `${sign}${text}\n`).join('');
}
