/** Events of node conditions, with upstream's reasons. Pure. */
import type { PressureCondition } from '#eviction/signals.ts';
import type { NodeEvent } from '../registration/node-status.ts';

const WORDS: readonly (readonly [PressureCondition, short: string, enough: string])[] = [
  ['MemoryPressure', 'NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
  ['DiskPressure', 'NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
  ['PIDPressure', 'NodeHasInsufficientPID', 'NodeHasSufficientPID'],
];

type Conditions = ReadonlySet<PressureCondition>;

export function conditionEvents(node: string, before: Conditions, now: Conditions): readonly NodeEvent[] {
  return WORDS.filter(([condition]) => before.has(condition) !== now.has(condition)).map(
    ([condition, short, enough]) => {
      const reason = now.has(condition) ? short : enough;
      return { type: 'Normal', reason, message: `Node ${node} status is now: ${reason}` };
    },
  );
}
