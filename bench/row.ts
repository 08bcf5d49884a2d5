/** What every row is made of. */
import type { Bench } from './setup.ts';
import type { Measurement, RowFacts } from './table.ts';

export interface Row extends RowFacts {
  /** Measures on the running agent; leaves behind what `Bench` says it may. */
  readonly measure: (bench: Bench) => Promise<Measurement>;
}
