/** Rows of the benchmark: judging and formatting. Pure. */

/** Title and budget of a row. */
export interface RowFacts {
  /** Short name for the command line. */
  readonly name: string;
  readonly title: string;
  /** Unit of value and baseline. */
  readonly unit: 's' | 'ms' | '/s' | 'MiB' | '%';
  readonly budget: number;
  /** Kind of budget: an upper limit of value divided by baseline, an upper limit of the value, or a lower
   *  limit of the value. */
  readonly limits: 'ratio' | 'value' | 'atLeast';
  /** The row in which upstream's program does the same, and its value on the machine on which the budget
   *  was set. */
  readonly reference?: { readonly row: string; readonly value: number };
}

export interface Measurement {
  readonly value: number;
  /** The possible minimum, measured in the same run. */
  readonly floor?: number;
  /** Error in spite of the value. */
  readonly error?: string;
  /** Additional information. */
  readonly detail?: string;
}

/** A value compared with that of the reference in the same run. */
export interface Comparison {
  /** Value of the reference. */
  readonly value: number;
  readonly ratio: number;
  /** Limit of the ratio. */
  readonly budget: number;
  readonly ok: boolean;
}

/** A row in the output of `--json`. */
export interface Result {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly floor: number | null;
  readonly ratio: number | null;
  readonly budget: number;
  readonly ok: boolean;
  /** If its reference was measured too. */
  readonly reference?: Comparison;
  /** Reason why the row has no value, or fails in spite of it. */
  readonly error?: string;
  readonly detail?: string;
}

const round = (value: number): number => Number(value.toPrecision(4));

/** Judges one measurement. A measurement with an error is never ok. */
export function judge(row: RowFacts, { value, floor, error, detail }: Measurement): Result {
  const ratio = floor === undefined || floor === 0 || row.limits !== 'ratio' ? null : value / floor;
  return {
    name: row.name,
    value: round(value),
    unit: row.unit,
    floor: floor === undefined ? null : round(floor),
    ratio: ratio === null ? null : round(ratio),
    budget: row.budget,
    ok: error === undefined && isWithin(row, row.limits === 'ratio' ? ratio : value),
    ...(error === undefined ? {} : { error }),
    ...(detail === undefined ? {} : { detail }),
  };
}

function isWithin({ limits, budget }: RowFacts, judged: number | null): boolean {
  if (judged === null) return false;
  return limits === 'atLeast' ? judged >= budget : judged <= budget;
}

/** Returns the result of a row that could not be measured. */
export function unmeasured(row: RowFacts, error: string): Result {
  const { name, unit, budget } = row;
  return { name, value: null, unit, floor: null, ratio: null, budget, ok: false, error };
}

/** Returns the median; of an even number, the mean of the two in the middle. @throws RangeError for an
 *  empty list */
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
    result.ok ? 'ok' : `MISSED${result.error === undefined ? '' : `: ${result.error}`}`,
    result.reference === undefined
      ? ''
      : comparisonText(row, result.reference, titleOf(row.reference?.row ?? '')),
    result.detail ?? '',
  ];
}

/** Formats a table for humans. */
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
