/** Termination of orphaned pods: those that appear in the runtime with this agent's labels although no worker
 *  created them. The runtime may execute a call of a dead agent after the next agent has listed it. */
import type { Logger } from '#api/kit/logger.ts';
import type { RuntimeView } from '../../observe/runtime-view.ts';
import type { PodManager } from '../pod-manager.ts';
import type { PodRecord } from '../record/record.ts';

export interface StrayDeps {
  readonly view: RuntimeView;
  readonly manager: Pick<PodManager, 'knows' | 'killOrphan'>;
  readonly log: Logger;
}

/** Watches until the signal fires. Call after pods of an earlier run have been restored. */
export function watchOrphanedPods({ view, manager, log }: StrayDeps, signal: AbortSignal): void {
  const unsubscribe = view.onChange((podUID) => {
    if (manager.knows(podUID) || !view.podUIDs().has(podUID)) return;
    log.warn({ podUID }, 'Orphaned pod found in the runtime');
    manager.killOrphan(orphanRecord(view, podUID));
  });
  signal.addEventListener('abort', unsubscribe, { once: true });
}

/** Returns a record of a pod of which only the identity is known: it can be removed but not run. */
export function orphanRecord(view: Pick<RuntimeView, 'pod'>, uid: string): PodRecord {
  const sandbox = view.pod(uid).sandboxes[0];
  const metadata = { uid, namespace: sandbox?.podNamespace ?? 'unknown', name: sandbox?.podName ?? uid };
  return {
    pod: { metadata, spec: { containers: [] } },
    origin: { source: 'file', location: '', document: '' },
    startedAtMs: sandbox?.createdAtMs ?? 0,
    terminal: undefined,
  };
}
