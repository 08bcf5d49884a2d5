/** How pods end with their machine, and what becomes of that afterwards. Pure. Words of upstream, release 1.24. */
import type { Refusal } from '../admission/admit.ts';
import type { TerminalPhase } from '../pods/plan.ts';
import type { PodRecord } from '../pods/record.ts';
import type { NodeEvent } from '../registration/node-status.ts';

/** Of a pod that ran. */
export const TERMINATED: TerminalPhase = {
  phase: 'Failed',
  reason: 'Terminated',
  message: 'Pod was terminated in response to imminent node shutdown.',
};

/** Of a pod that came too late. */
export const NOT_ADMITTED: Refusal = {
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
};

/** What keeps the node from being ready meanwhile. */
export const NODE_TROUBLE = 'node is shutting down';

/** Told about the node, by whether the shutdown begins. */
export const shutdownEvent = (begins: boolean): NodeEvent => ({
  type: 'Normal',
  reason: 'Shutdown',
  message: `Shutdown manager detected shutdown ${begins ? 'event' : 'cancellation'}`,
});

const isByShutdown = ({ reason, message }: Pick<TerminalPhase, 'reason' | 'message'>): boolean =>
  reason === NOT_ADMITTED.reason || (reason === TERMINATED.reason && message === TERMINATED.message);

/** A pod of a manifest is to run again when the machine does; one of a server has ended for it, which has others made. */
export function afterShutdown(record: PodRecord): PodRecord {
  const { terminal, origin } = record;
  if (terminal === undefined || origin.source === 'api' || !isByShutdown(terminal)) return record;
  return { ...record, terminal: undefined };
}
