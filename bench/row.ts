/** What every row is made of. */
import type { Bench } from './setup.ts';
import type { Measurement, RowFacts } from './table.ts';

export interface RowOn<B> extends RowFacts {
  /** Measures on what was set up; leaves behind what that says it may. */
  readonly measure: (bench: B) => Promise<Measurement>;
}

/** A row on the running agent. */
export type Row = RowOn<Bench>;
