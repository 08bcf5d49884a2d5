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
  /** The row in which a program of the field does the same, and what that was on the machine the budget was set on. */
  readonly reference?: { readonly row: string; readonly value: number };
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

/** A value beside that of the reference in the same run. */
export interface Comparison {
  /** Of the reference. */
  readonly value: number;
  readonly ratio: number;
  /** What the ratio must keep to. */
  readonly budget: number;
  readonly ok: boolean;
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
  /** Where its reference was measured, too. */
  readonly reference?: Comparison;
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

function comparisonText({ limits, unit }: RowFacts, compared: Comparison, title: string): string {
  const [ratio, budget] = [compared.ratio, compared.budget].map((number) => number.toPrecision(3));
  const least = `${limits === 'atLeast' ? '≥' : '≤'} ${budget} ×`;
  const verdict = compared.ok ? 'ok' : 'MISSED';
  return `${ratio} × (${least}) of ${title}, ${amount(compared.value, unit)}: ${verdict}`;
}

function cells(row: RowFacts, result: Result, titleOf: (name: string) => string): readonly string[] {
  return [
    row.title,
    amount(result.value, row.unit),
    amount(result.floor, row.unit),
    result.ratio === null ? '–' : `${result.ratio.toFixed(2)} ×`,
    budgetText(row),
    result.ok ? 'ok' : `MISSED${result.fault === undefined ? '' : `: ${result.fault}`}`,
    result.reference === undefined
      ? ''
      : comparisonText(row, result.reference, titleOf(row.reference?.row ?? '')),
    result.detail ?? '',
  ];
}

/** Lines of a table for people. */
export function formatTable(rows: readonly (readonly [RowFacts, Result])[]): string {
  const head = ['what', 'value', 'floor', 'ratio', 'budget', '', '', ''];
  const titles = new Map(rows.map(([{ name, title }]) => [name, title]));
  const titleOf = (name: string): string => titles.get(name) ?? name;
  const lines = [head, ...rows.map(([row, result]) => cells(row, result, titleOf))];
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
