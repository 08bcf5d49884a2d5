/** Executes the reclaiming of a released volume: deletes its directory, or runs its recycler pod. Repeatable: the
 *  volume changes only when its content is gone. */

import { copyJson } from '#api/codec/copy-json.ts';
import type { PersistentVolume, Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { EventText } from './decide-claim.ts';
import { type BinderClient, executeUnbinding, executeVolumePhase } from './execute.ts';
import { nameOf } from './model.ts';
import { decideRecycler, RECYCLER_NAMESPACE, recyclerName, recyclerSpec } from './reclaim.ts';
import { removePath } from './remove-path.ts';

export interface ReclaimParts extends BinderClient {
  readonly pods: Resource;
  readonly podCache: Pick<ResourceCache, 'get'>;
  readonly report: (volumeName: string, event: EventText) => void;
}

const warning = (reason: string, message: string): EventText => ({ type: 'Warning', reason, message });

async function fail(
  parts: ReclaimParts,
  volume: PersistentVolume,
  reason: string,
  message: string,
): Promise<void> {
  if (await executeVolumePhase(parts, volume, 'Failed', message))
    parts.report(nameOf(volume), warning(reason, message));
}

/** @throws StatusError */
export async function executePathDeletion(
  parts: ReclaimParts,
  volume: PersistentVolume,
  path: string,
): Promise<void> {
  const { client, volumes } = parts;
  try {
    await removePath(path);
  } catch (thrown) {
    await fail(parts, volume, 'VolumeFailedDelete', asError(thrown).message);
    return;
  }
  await client.verbs.delete({
    ref: { resource: volumes, namespace: '', name: nameOf(volume) },
    preconditions: { uid: volume.metadata?.uid ?? '' },
    dryRun: false,
    caller: client.caller,
  });
}

async function createPod({ client, pods }: ReclaimParts, volume: PersistentVolume): Promise<void> {
  const name = recyclerName(nameOf(volume));
  const pod: ApiObject = {
    apiVersion: 'v1',
    kind: pods.info.kind,
    metadata: { name, namespace: RECYCLER_NAMESPACE },
    spec: copyJson(recyclerSpec(volume)),
  };
  pods.schema.applyDefaults(pod);
  await client.verbs.create({
    ref: { resource: pods, namespace: RECYCLER_NAMESPACE, name },
    object: pod,
    dryRun: false,
    fieldManager: client.fieldManager,
    caller: client.caller,
  });
}

async function deletePod({ client, pods }: ReclaimParts, { metadata }: Pod): Promise<void> {
  try {
    await client.verbs.delete({
      ref: { resource: pods, namespace: RECYCLER_NAMESPACE, name: metadata?.name ?? '' },
      preconditions: { uid: metadata?.uid ?? '' },
      gracePeriodSeconds: 0,
      dryRun: false,
      caller: client.caller,
    });
  } catch (thrown) {
    if (!(thrown instanceof StatusError) || thrown.reason !== 'NotFound') throw thrown;
  }
}

/** @throws StatusError */
export async function executeRecycling(parts: ReclaimParts, volume: PersistentVolume): Promise<void> {
  const name = nameOf(volume);
  const found = parts.podCache.get(`${RECYCLER_NAMESPACE}/${recyclerName(name)}`)?.object();
  const pod = found && typed<Pod>(found);
  const action = decideRecycler(pod, volume);
  switch (action.kind) {
    case 'create':
      await createPod(parts, volume);
      return;
    case 'wait':
      return;
    case 'replace':
      if (pod !== undefined) await deletePod(parts, pod);
      return;
    case 'succeeded':
      await executeUnbinding(parts, volume);
      parts.report(name, { type: 'Normal', reason: 'VolumeRecycled', message: 'Volume recycled' });
      if (pod !== undefined) await deletePod(parts, pod);
      return;
    case 'failed':
      await fail(parts, volume, 'VolumeFailedRecycle', `Recycle failed: ${action.message}`);
      if (pod !== undefined) await deletePod(parts, pod);
      return;
    default:
      action satisfies never;
  }
}
