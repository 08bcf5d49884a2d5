/** Tells the API server how volumes grow on this node: the status of their claims, and events.
 *  Source: upstream's `MarkFSResizeFinished`, node expander and reasons of events, release 1.24. */
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ObjectReference, PersistentVolumeClaimStatus } from '#api/schema/gen/core-v1.ts';
import type { Expansion, ExpansionReports } from '#volumes/expansion/contract.ts';
import type { ApiClient } from '../api-client/client.ts';
import type { EventRecorder } from '../events/recorder.ts';

export interface ExpansionReportsDeps {
  readonly client: Pick<ApiClient, 'patch'>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly log: Logger;
  /** Of this node. */
  readonly node: string;
  /** Whether claims say how far growing is (feature RecoverVolumeExpansionFailure). */
  readonly tellsProgress: boolean;
  /** Ends what is told without anybody waiting for it. */
  readonly stop: AbortSignal;
}

type Progress = NonNullable<PersistentVolumeClaimStatus['resizeStatus']>;

/** What a claim says while it waits for its node. */
const CONDITIONS = ['Resizing', 'FileSystemResizePending'].map((type) => ({ $patch: 'delete', type }));

function involved({ pod, claim }: Expansion): readonly [pod: ObjectReference, claim: ObjectReference] {
  const reference = (kind: string, { metadata = {} }: Expansion['pod' | 'claim']): ObjectReference => {
    const { namespace = '', name = '', uid = '' } = metadata;
    return { apiVersion: 'v1', kind, namespace, name, uid };
  };
  return [reference('Pod', pod), reference('PersistentVolumeClaim', claim)];
}

export function createExpansionReports(deps: ExpansionReportsDeps): ExpansionReports {
  const { client, events, log, node, tellsProgress, stop } = deps;
  const named = ({ volume }: Expansion): string => `for volume "${volume.metadata?.name}" ${node}`;

  async function change({ claim }: Expansion, status: object, signal: AbortSignal): Promise<void> {
    const { namespace = '', name = '', uid = '' } = claim.metadata ?? {};
    const address = {
      apiVersion: 'v1',
      resource: 'persistentvolumeclaims',
      namespace,
      name,
      subresource: 'status',
    };
    await client.patch(address, { type: 'strategic', content: { metadata: { uid }, status } }, signal);
  }

  /** Without the feature, and for a claim that others let grow, there is no progress to tell. */
  const progress = ({ claim }: Expansion, resizeStatus: Progress): { resizeStatus?: Progress } =>
    tellsProgress && (claim.status?.resizeStatus ?? '') !== '' ? { resizeStatus } : {};

  return {
    async begun(expansion, signal) {
      const told = progress(expansion, 'NodeExpansionInProgress');
      if (told.resizeStatus === undefined || told.resizeStatus === expansion.claim.status?.resizeStatus)
        return;
      await change(expansion, told, signal);
    },
    async finished(expansion, signal) {
      const capacity = { storage: expansion.size };
      await change(expansion, { capacity, conditions: CONDITIONS, ...progress(expansion, '') }, signal);
      const message = `MountVolume.NodeExpandVolume succeeded ${named(expansion)}`;
      for (const one of involved(expansion))
        events.event(one, 'Normal', 'FileSystemResizeSuccessful', message);
    },
    readOnly(expansion) {
      const message = `MountVolume.NodeExpandVolume failed ${named(expansion)}: requested read-only file system`;
      for (const one of involved(expansion)) events.event(one, 'Warning', 'FileSystemResizeFailed', message);
    },
    failed(expansion, error, isUsed) {
      const message = `NodeExpandVolume.NodeExpandVolume failed ${named(expansion)}: ${error.message}`;
      const [pod, claim] = involved(expansion);
      // A pod that waits for its volume is told of by its mount.
      if (isUsed) events.event(pod, 'Warning', 'VolumeResizeFailed', message);
      events.event(claim, 'Warning', 'FileSystemResizeFailed', message);
      const told = progress(expansion, 'NodeExpansionFailed');
      if (told.resizeStatus === undefined) return;
      change(expansion, told, stop).catch((thrown: unknown) => {
        log.warn({ err: asError(thrown) }, 'Failed growth of a volume could not be told');
      });
    },
  };
}
