/** Contract of a row. */
import type { Bench } from './setup.ts';
import type { Measurement, RowFacts } from './table.ts';

export interface RowOn<B> extends RowFacts {
  /** Measures on the common setup, and leaves behind only what the setup allows. */
  readonly measure: (bench: B) => Promise<Measurement>;
}

/** A row on the running agent. */
export type Row = RowOn<Bench>;
