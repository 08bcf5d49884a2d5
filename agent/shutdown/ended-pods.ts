/** Status of pods that were terminated by a machine shutdown, and their restart. Pure. Texts of upstream,
 *  release 1.24. */
import type { Refusal } from '../admission/admit.ts';
import type { TerminalPhase } from '../pods/decide/decision-types.ts';
import type { PodRecord } from '../pods/record/record.ts';
import type { NodeEvent } from '../registration/node-status.ts';

/** Of a running pod. */
export const TERMINATED: TerminalPhase = {
  phase: 'Failed',
  reason: 'Terminated',
  message: 'Pod was terminated in response to imminent node shutdown.',
};

/** Of a pod that arrived during the shutdown. */
export const NOT_ADMITTED: Refusal = {
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
};

/** Reason why the node is not ready meanwhile. */
export const NODE_TROUBLE = 'node is shutting down';

/** Returns the node event of a started or cancelled shutdown. */
export const shutdownEvent = (begins: boolean): NodeEvent => ({
  type: 'Normal',
  reason: 'Shutdown',
  message: `Shutdown manager detected shutdown ${begins ? 'event' : 'cancellation'}`,
});

const isByShutdown = ({ reason, message }: Pick<TerminalPhase, 'reason' | 'message'>): boolean =>
  reason === NOT_ADMITTED.reason || (reason === TERMINATED.reason && message === TERMINATED.message);

/** Reports whether a pod restarts after the boot: one of a manifest does; one of a server is replaced by its
 *  controller. */
export function afterShutdown(record: PodRecord): PodRecord {
  const { terminal, origin } = record;
  if (terminal === undefined || origin.source === 'api' || !isByShutdown(terminal)) return record;
  return { ...record, terminal: undefined };
}
