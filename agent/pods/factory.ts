/** Creates pod workers from the dependencies that all pods share. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import { type PodIdentity, podFullName } from '../pod-identity/identity.ts';
import type { ProbeManager } from '../probes/manager.ts';
import type { ProbeMemory } from '../probes/memory.ts';
import { probeTargets } from '../probes/targets.ts';
import type { ManifestOrigin } from '../sources/types.ts';
import type { PodOperations } from './operations/operations.ts';
import type { PodEvent } from './pod-event.ts';
import type { RecordStore } from './record/record.ts';
import { createRecordWriter, type RecordWriter } from './record/record-writer.ts';
import { probeFindings } from './status/probe-findings.ts';
import { podStatus } from './status/status.ts';
import { type PodStart, PodWorker } from './worker.ts';

export interface WorkerFactoryDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly view: RuntimeView;
  /** Operations of the pod with that identity. */
  readonly operations: (pod: PodIdentity) => PodOperations;
  readonly probes: ProbeManager;
  readonly records: RecordStore;
  readonly memory: Pick<ProbeMemory, 'previous' | 'note'>;
  readonly event: PodEvent;
  readonly hostIPs: () => readonly string[];
  /** Scheme of container IDs, such as `containerd`. */
  readonly runtimeName: () => string;
  readonly keepTerminatedVolumes: boolean;
  /** Called after each change of a published status. */
  readonly changed: () => void;
}

export function createWorkerFactory(
  deps: WorkerFactoryDeps,
): (start: PodStart, origin: ManifestOrigin) => PodWorker {
  return (start, origin) => {
    const { pod, identity, startedAtMs, terminal } = start;
    const log = deps.log.child({ pod: podFullName(identity), podUID: identity.uid });
    const writer = createRecordWriter((record) => deps.records.save(record), {
      pod,
      origin,
      startedAtMs,
      terminal,
    });
    return new PodWorker(
      {
        clock: deps.clock,
        log,
        view: deps.view,
        operations: withRecord(deps.operations(identity), writer),
        syncProbes: (current, observed) => {
          const hostIP = deps.hostIPs()[0] ?? '';
          const { previous } = deps.memory;
          deps.probes.sync(
            identity.uid,
            observed === undefined ? undefined : probeTargets(current, observed, hostIP, previous),
          );
        },
        probeVerdict: (containerId) => deps.probes.verdict(containerId),
        save: writer.write,
        status: (facts) =>
          podStatus({
            ...facts,
            hostIPs: deps.hostIPs(),
            qosClass: qosClass(pod),
            runtimeName: deps.runtimeName(),
            nowMs: deps.clock.now(),
          }),
        onStatus: (status) => {
          log.debug({ phase: status.phase }, 'Pod status changed');
          deps.memory.note(identity.uid, probeFindings(pod, status));
          deps.changed();
        },
        warn: (reason, message, container) => deps.event(pod, 'Warning', reason, message, container),
        keepTerminatedVolumes: deps.keepTerminatedVolumes,
      },
      start,
    );
  };
}

/** Persists the record of a pod before creating anything of it, so that a record exists for everything that
 *  must be cleaned up. Writes nothing once the directory of the pod is being removed: a pod can still reach its
 *  terminal phase then, and the write would fail, or would create the directory again. */
function withRecord(operations: PodOperations, writer: RecordWriter): PodOperations {
  return {
    ...operations,
    async mountVolumes(pod, signal) {
      await writer.write({});
      await operations.mountVolumes(pod, signal);
    },
    async removePod() {
      await writer.close();
      await operations.removePod();
    },
  };
}
