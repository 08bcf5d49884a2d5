/** Reports volume expansion on this node to the API server: claim status and events.
 *  Source: upstream's `MarkFSResizeFinished`, node expander and event reasons, release 1.24. */

import type { ObjectReference, PersistentVolumeClaimStatus } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Expansion, ExpansionReports } from '#volumes/contract/expansion.ts';
import type { ApiClient } from '../api-client/client.ts';
import type { EventRecorder } from '../events/recorder.ts';

export interface ExpansionReportsDeps {
  readonly client: Pick<ApiClient, 'patch'>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly log: Logger;
  /** Name of this node. */
  readonly node: string;
  /** Whether claims report the progress of expansion (feature RecoverVolumeExpansionFailure). */
  readonly reportsProgress: boolean;
  /** Aborts reports that no caller awaits. */
  readonly stop: AbortSignal;
}

type Progress = NonNullable<PersistentVolumeClaimStatus['resizeStatus']>;

/** Resize status of a claim that waits for its node. */
const CONDITIONS = ['Resizing', 'FileSystemResizePending'].map((type) => ({ $patch: 'delete', type }));

function involved({ pod, claim }: Expansion): readonly [pod: ObjectReference, claim: ObjectReference] {
  const reference = (kind: string, { metadata = {} }: Expansion['pod' | 'claim']): ObjectReference => {
    const { namespace = '', name = '', uid = '' } = metadata;
    return { apiVersion: 'v1', kind, namespace, name, uid };
  };
  return [reference('Pod', pod), reference('PersistentVolumeClaim', claim)];
}

export function createExpansionReports(deps: ExpansionReportsDeps): ExpansionReports {
  const { client, events, log, node, reportsProgress, stop } = deps;
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

  /** Without the feature, and for a claim without a resize status, there is no progress to report. */
  const progress = ({ claim }: Expansion, resizeStatus: Progress): { resizeStatus?: Progress } =>
    reportsProgress && (claim.status?.resizeStatus ?? '') !== '' ? { resizeStatus } : {};

  return {
    async begun(expansion, signal) {
      const status = progress(expansion, 'NodeExpansionInProgress');
      if (status.resizeStatus === undefined || status.resizeStatus === expansion.claim.status?.resizeStatus)
        return;
      await change(expansion, status, signal);
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
      // For a pod that waits for its volume, the mount reports the failure.
      if (isUsed) events.event(pod, 'Warning', 'VolumeResizeFailed', message);
      events.event(claim, 'Warning', 'FileSystemResizeFailed', message);
      const status = progress(expansion, 'NodeExpansionFailed');
      if (status.resizeStatus === undefined) return;
      change(expansion, status, stop).catch((thrown: unknown) => {
        log.warn({ err: asError(thrown) }, 'Failed to report volume expansion failure');
      });
    },
  };
}
