/** Carries changes of the desired state to the pods: pods to the manager, configuration objects to those pods that
 *  use them, and rejected manifests to the events. */
import type { Logger } from '#api/kit/logger.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { VolumeManager } from '#volumes/types.ts';
import type { EventRecorder } from '../events/recorder.ts';
import { formatObjectKey, type ObjectKey, objectReferences } from '../objects/references.ts';
import type { ObjectStore } from '../objects/store.ts';
import type { SourceManager } from '../sources/manager.ts';
import type { DesiredState, ManifestOrigin } from '../sources/types.ts';
import type { PodManager } from './pod-manager.ts';

export interface ObjectWatcherDeps {
  readonly objects: ObjectStore;
  readonly sources: Pick<SourceManager, 'onChange'>;
  readonly manager: PodManager;
  readonly volumes: Pick<VolumeManager, 'refreshPod'>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly log: Logger;
}

/** Subscribes for the life of the agent. */
export function createObjectWatcher(deps: ObjectWatcherDeps): void {
  const { objects, sources, manager, volumes, log } = deps;
  const reportProblems = createProblemReporter(deps);

  async function refresh(pod: Pod): Promise<void> {
    await volumes.refreshPod(pod).catch((err: unknown) => {
      log.warn({ err, pod: pod.metadata?.name }, 'Volumes were not refreshed');
    });
  }

  objects.onChange((changed) => {
    const keys = new Set(changed.map(formatObjectKey));
    const uses = (pod: Pod): boolean =>
      objectReferences(pod).some((key: ObjectKey) => keys.has(formatObjectKey(key)));
    for (const worker of manager.workers().filter(({ pod }) => uses(pod))) {
      void refresh(worker.pod);
      worker.retry();
    }
  });
  sources.onChange((desired) => {
    objects.replace(desired.objects);
    manager.apply(desired);
    reportProblems(desired);
  });
}

/** Each problem becomes one event and one log line while it lasts. */
function createProblemReporter({ events, log }: ObjectWatcherDeps): (desired: DesiredState) => void {
  let known: ReadonlySet<string> = new Set();
  return ({ rejected, conflicts }) => {
    const problems = new Map<string, () => void>();
    for (const { origin, identity, errors } of rejected) {
      const message = errors.map(formatFieldError).join('; ');
      problems.set(`${place(origin)} ${identity} ${message}`, () => {
        log.warn({ ...origin, identity, errors: errors.map(formatFieldError) }, 'Manifest was rejected');
        events.event(involved(identity), 'Warning', 'ManifestRejected', `${place(origin)}: ${message}`);
      });
    }
    for (const { identity, winner, loser } of conflicts) {
      const message = `${place(loser)} names ${identity} again; ${place(winner)} came first and is used`;
      problems.set(message, () => {
        log.warn({ identity, winner, loser }, 'Manifest names something that another one has');
        events.event(involved(identity), 'Warning', 'ManifestConflict', message);
      });
    }
    for (const [key, report] of problems) if (!known.has(key)) report();
    known = new Set(problems.keys());
  };
}

const place = ({ location, document }: ManifestOrigin): string => `${location} document ${document}`;

/** `Pod default/web` → the reference that its events carry. */
function involved(identity: string) {
  const [kind = '', name = ''] = identity.split(' ');
  const [namespace, ownName] = name.includes('/') ? name.split('/') : ['', name];
  return { kind, namespace: namespace ?? '', name: ownName ?? '' };
}
