/** Builder of one decision. */
import type { Decision, PodAction, WaitingReason } from './decision-types.ts';

export interface DecisionBuilder {
  act(action: PodAction): void;
  wait(container: string, reason: string, message?: string): void;
  wakeAt(atMs: number): void;
  decision(): Decision;
}

export function createDecisionBuilder(): DecisionBuilder {
  const actions: PodAction[] = [];
  const waiting = new Map<string, WaitingReason>();
  let wakeAtMs: number | undefined;
  return {
    act: (action) => void actions.push(action),
    wait: (container, reason, message = '') => void waiting.set(container, { reason, message }),
    wakeAt(atMs) {
      wakeAtMs = wakeAtMs === undefined ? atMs : Math.min(wakeAtMs, atMs);
    },
    decision: () => ({ actions, waiting, wakeAtMs }),
  };
}
