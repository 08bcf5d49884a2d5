/** The rows of the benchmark: what they are judged by and how they are shown. Pure. */

/** What a row says it measures and what it must keep to. */
export interface RowFacts {
  /** Short, for the command line. */
  readonly name: string;
  readonly title: string;
  /** Unit of value and floor. */
  readonly unit: 's' | 'ms' | '/s' | 'MiB' | '%';
  readonly budget: number;
  /** What the budget limits: value divided by floor, the value itself, or the value from below. */
  readonly limits: 'ratio' | 'value' | 'atLeast';
}

export interface Measurement {
  readonly value: number;
  /** The least that is possible, measured in the same run. */
  readonly floor?: number;
  /** What went wrong in spite of the value. */
  readonly fault?: string;
  /** What else is worth knowing. */
  readonly detail?: string;
}

/** A row as `--json` writes it. */
export interface Result {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly floor: number | null;
  readonly ratio: number | null;
  readonly budget: number;
  readonly ok: boolean;
  /** Why the row has no value or fails in spite of it. */
  readonly fault?: string;
  readonly detail?: string;
}

const round = (value: number): number => Number(value.toPrecision(4));

/** Judges one measurement. A measurement with a fault is never ok. */
export function judge(row: RowFacts, { value, floor, fault, detail }: Measurement): Result {
  const ratio = floor === undefined || floor === 0 || row.limits !== 'ratio' ? null : value / floor;
  return {
    name: row.name,
    value: round(value),
    unit: row.unit,
    floor: floor === undefined ? null : round(floor),
    ratio: ratio === null ? null : round(ratio),
    budget: row.budget,
    ok: fault === undefined && isWithin(row, row.limits === 'ratio' ? ratio : value),
    ...(fault === undefined ? {} : { fault }),
    ...(detail === undefined ? {} : { detail }),
  };
}

function isWithin({ limits, budget }: RowFacts, judged: number | null): boolean {
  if (judged === null) return false;
  return limits === 'atLeast' ? judged >= budget : judged <= budget;
}

/** The result of a row that could not be measured. */
export function unmeasured(row: RowFacts, fault: string): Result {
  const { name, unit, budget } = row;
  return { name, value: null, unit, floor: null, ratio: null, budget, ok: false, fault };
}

/** The middle value; of an even number, the mean of the two in the middle. @throws RangeError for none */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new RangeError('median of nothing');
  return (upper + lower) / 2;
}

const amount = (value: number | null, unit: string): string =>
  value === null ? '–' : `${value < 1000 ? value.toPrecision(3) : value.toFixed(0)} ${unit}`;

function budgetText({ limits, budget, unit }: RowFacts): string {
  if (limits === 'ratio') return `≤ ${budget} ×`;
  return `${limits === 'atLeast' ? '≥' : '≤'} ${budget} ${unit}`;
}

function cells(row: RowFacts, result: Result): readonly string[] {
  return [
    row.title,
    amount(result.value, row.unit),
    amount(result.floor, row.unit),
    result.ratio === null ? '–' : `${result.ratio.toFixed(2)} ×`,
    budgetText(row),
    result.ok ? 'ok' : `MISSED${result.fault === undefined ? '' : `: ${result.fault}`}`,
    result.detail ?? '',
  ];
}

/** Lines of a table for people. */
export function formatTable(rows: readonly (readonly [RowFacts, Result])[]): string {
  const head = ['what', 'value', 'floor', 'ratio', 'budget', '', ''];
  const lines = [head, ...rows.map(([row, result]) => cells(row, result))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const format = (line: readonly string[]): string =>
    line
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return lines.map(format).join('\n');
}
