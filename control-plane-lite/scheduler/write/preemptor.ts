/** Executes preemption: deletes the victims with their grace period. */
import type { Logger } from '#api/kit/logger.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Resource } from '../../resources/contract.ts';
import type { Verbs } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import type { PodInfo } from '../fleet/model.ts';
import type { Victims } from '../preempt.ts';
import type { EventWriter } from './event-writer.ts';

export interface PreemptorDeps {
  readonly pods: Resource;
  readonly verbs: Pick<Verbs, 'delete'>;
  readonly events: EventWriter;
  readonly log: Logger;
  readonly manager: string;
}

/** Reports whether the pod was replaced by another. */
const isGone = (thrown: unknown): boolean =>
  thrown instanceof StatusError && (thrown.reason === 'NotFound' || thrown.reason === 'Conflict');

export type Preempt = (pod: PodInfo, victims: Victims) => Promise<void>;

/** Never rejects: a victim that remains is found again by the pod's next attempt. */
export function createPreemptor(deps: PreemptorDeps, signal: AbortSignal): Preempt {
  const caller = controllerCaller(deps.manager, signal);

  async function end(victim: PodInfo, pod: PodInfo, nodeName: string): Promise<void> {
    if (victim.terminating) return;
    const { name, uid, shape } = victim;
    try {
      await deps.verbs.delete({
        ref: { resource: deps.pods, namespace: shape.namespace, name },
        dryRun: false,
        preconditions: { uid },
        caller,
      });
      deps.events.record(victim, {
        type: 'Normal',
        reason: 'Preempted',
        action: 'Preempting',
        message: `Preempted by ${pod.key} on node ${nodeName}`,
        related: pod,
      });
    } catch (err) {
      if (isGone(err) || signal.aborted) return;
      deps.log.warn({ err, pod: victim.key, for: pod.key }, 'Failed to preempt pod');
    }
  }

  return async (pod, { node, pods }) => {
    await Promise.all(pods.map((victim) => end(victim, pod, node.name)));
  };
}
