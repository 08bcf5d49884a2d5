/** Parts of a compiled rule: values and work of one evaluation, and what is known about each node. Pure. */
import type { CelType } from './types.ts';
import type { CelValue } from './values.ts';

/** State of one evaluation: values of variables, and the work that is left. */
export interface Run {
  readonly slots: CelValue[];
  left: number;
}

export interface Compiled {
  readonly type: CelType;
  /** Most work. */
  readonly cost: number;
  readonly run: (run: Run) => CelValue;
}

export interface Variable {
  readonly type: CelType;
  readonly slot: number;
}

export interface Scope {
  readonly variables: ReadonlyMap<string, Variable>;
  /** Slots in use. */
  readonly depth: number;
  /** Most slots in use at once. */
  readonly used: { slots: number; names: Set<string> };
}

/** The work exceeds its limit: nothing absorbs this. */
export class CostLimitError extends Error {
  override readonly name = 'CostLimitError';
}

export function charge(run: Run, cost: number): void {
  run.left -= cost;
  if (run.left < 0) throw new CostLimitError('operation cancelled: actual cost limit exceeded');
}
