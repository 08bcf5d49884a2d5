/** Makes workers for the pod manager from the parts that all pods share. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import type { ProbeManager } from '../probes/manager.ts';
import type { ProbeMemory } from '../probes/memory.ts';
import { probeTargets } from '../probes/targets.ts';
import type { ManifestOrigin } from '../sources/types.ts';
import { podFullName, podIdentity } from './identity.ts';
import type { PodEvent } from './operations/deps.ts';
import type { PodOperations } from './operations/types.ts';
import { probeFindings } from './probe-findings.ts';
import type { RecordStore } from './record.ts';
import { createRecordWriter, type RecordWriter } from './record-writer.ts';
import { podStatus } from './status.ts';
import { type PodStart, PodWorker } from './worker.ts';

export interface WorkerFactoryDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly view: RuntimeView;
  readonly operations: PodOperations;
  readonly probes: ProbeManager;
  readonly records: RecordStore;
  readonly memory: Pick<ProbeMemory, 'previous' | 'note'>;
  readonly event: PodEvent;
  readonly hostIPs: () => readonly string[];
  /** `containerd`, the scheme of container IDs. */
  readonly runtimeName: () => string;
  readonly keepTerminatedVolumes: boolean;
  /** Called after each change of what is shown of a pod. */
  readonly changed: () => void;
}

export function createWorkerFactory(
  deps: WorkerFactoryDeps,
): (start: PodStart, origin: ManifestOrigin) => PodWorker {
  return (start, origin) => {
    const { pod, startedAtMs, terminal } = start;
    const identity = podIdentity(pod);
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
        operations: withRecord(deps.operations, writer),
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

/** The pod is recorded before anything of it is made, so that whatever exists has a record that can end it; and
 *  nothing is recorded any more when its folder is removed. */
function withRecord(operations: PodOperations, writer: RecordWriter): PodOperations {
  return {
    ...operations,
    async mountVolumes(pod, signal) {
      await writer.write({});
      await operations.mountVolumes(pod, signal);
    },
    async removePod(pod) {
      await writer.settled();
      await operations.removePod(pod);
    },
  };
}
