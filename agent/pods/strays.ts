/** Pods that turn up in the runtime with this agent's mark though none of its workers made them: a call of an agent
 *  that died may be carried out after the next one looked. They are ended. */
import type { Logger } from '#api/kit/logger.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import type { PodManager } from './pod-manager.ts';
import type { PodRecord } from './record.ts';

export interface StrayDeps {
  readonly view: RuntimeView;
  readonly manager: Pick<PodManager, 'knows' | 'takeStray'>;
  readonly log: Logger;
}

/** Watches for them until the signal fires. Call when what an earlier agent left was restored. */
export function watchStrays({ view, manager, log }: StrayDeps, signal: AbortSignal): void {
  const unsubscribe = view.onChange((podUID) => {
    if (manager.knows(podUID) || !view.podUIDs().has(podUID)) return;
    log.warn({ podUID }, 'Pod that nobody asked for was found in the runtime');
    manager.takeStray(strayRecord(view, podUID));
  });
  signal.addEventListener('abort', unsubscribe, { once: true });
}

/** A pod that can be removed but not run: nothing but its names is known. */
export function strayRecord(view: Pick<RuntimeView, 'pod'>, uid: string): PodRecord {
  const sandbox = view.pod(uid).sandboxes[0];
  const metadata = { uid, namespace: sandbox?.podNamespace ?? 'unknown', name: sandbox?.podName ?? uid };
  return {
    pod: { metadata, spec: { containers: [] } },
    origin: { source: 'file', location: '', document: '' },
    startedAtMs: sandbox?.createdAtMs ?? 0,
    terminal: undefined,
  };
}
