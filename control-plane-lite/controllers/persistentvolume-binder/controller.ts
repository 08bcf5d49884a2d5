/** Persistent volume binder: binds claims to volumes, and updates the phase of volumes whose claims are
 *  deleted. */
import { StatusError } from '#api/meta/status-error.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import type { KeyQueue } from '../workloads-kit/run-keys.ts';
import { type ClaimAction, decideClaim, type EventText } from './decide-claim.ts';
import { decideVolume, type VolumeAction } from './decide-volume.ts';
import {
  type BinderClient,
  executeBinding,
  executeClaimPhase,
  executeProvisioning,
  executeUnbinding,
  executeVolumePhase,
} from './execute.ts';
import { executePathDeletion, executeRecycling, type ReclaimParts } from './execute-reclaim.ts';
import { binderNames, claimKeyOf } from './model.ts';
import { volumeOfRecycler } from './reclaim.ts';
import { type BinderState, followVolumes } from './state.ts';

interface Parts extends BinderClient {
  readonly deps: WorkloadDeps;
  readonly state: BinderState;
  readonly queue: KeyQueue;
  readonly pods: Resource;
  readonly podCache: ResourceCache;
}

/** Keys of claims and volumes in one queue; neither contains a blank. */
const VOLUME = 'volume ';
const claimWork = (key: string): string => `claim ${key}`;
const volumeWork = (name: string): string => `${VOLUME}${name}`;

/** The cached object of an event. */
function recordEvent(
  { deps, client, claims, volumes }: Parts,
  kind: 'claim' | 'volume',
  key: string,
  event: EventText | undefined,
): void {
  const { storage } = kind === 'claim' ? claims : volumes;
  const object: ApiObject | undefined = deps.cache.resource(storage).get(key)?.object();
  if (object !== undefined && event !== undefined) {
    client.events.record(object, event.type, event.reason, event.message);
  }
}

async function reconcileClaim(parts: Parts, key: string): Promise<void> {
  const { state, names } = parts;
  const claim = state.claim(key);
  if (claim === undefined) return;
  const action: ClaimAction = decideClaim(claim, {
    names,
    volume: (name) => state.volume(name),
    candidates: (each) => state.candidates(each),
    storageClass: (name) => state.storageClass(name),
  });
  switch (action.kind) {
    case 'bind':
      await executeBinding(parts, claim, action.volume);
      return;
    case 'provision':
      await executeProvisioning(parts, claim, action.provisioner);
      recordEvent(parts, 'claim', key, action.event);
      return;
    case 'lose':
      if (claim.status?.phase !== 'Lost') recordEvent(parts, 'claim', key, action.event);
      await executeClaimPhase(parts, claim, 'Lost');
      return;
    case 'wait':
      recordEvent(parts, 'claim', key, action.event);
      await executeClaimPhase(parts, claim, 'Pending');
      return;
    default:
      action satisfies never;
  }
}

async function reconcileVolume(parts: Parts, name: string): Promise<void> {
  const { state, names, deps, queue } = parts;
  const seen = state.volume(name);
  if (seen === undefined) return;
  const claimOf = (key: string | undefined): ReturnType<BinderState['claim']> =>
    key === undefined ? undefined : state.claim(key);
  const keyOfClaim = seen.spec?.claimRef && claimKeyOf(seen.spec.claimRef);
  // A missing claim may not be in the cache yet.
  if (keyOfClaim !== undefined && claimOf(keyOfClaim)?.metadata?.uid !== seen.spec?.claimRef?.uid) {
    await deps.cache.waitForNewest();
  }
  const volume = state.volume(name);
  if (volume === undefined) return;
  const claimKey = volume.spec?.claimRef && claimKeyOf(volume.spec.claimRef);
  const action: VolumeAction = decideVolume(volume, claimOf(claimKey), names);
  switch (action.kind) {
    case 'phase': {
      const changed = await executeVolumePhase(parts, volume, action.phase, action.event?.message);
      if (changed) recordEvent(parts, 'volume', name, action.event);
      return;
    }
    case 'queueClaim':
      if (claimKey !== undefined) queue.add(claimWork(claimKey));
      return;
    case 'reject':
      recordEvent(parts, 'volume', name, action.event);
      return;
    case 'unbind':
      await executeUnbinding(parts, volume);
      return;
    case 'deletePath':
      await executePathDeletion(reclaimParts(parts), volume, action.path);
      return;
    case 'recycle':
      await executeRecycling(reclaimParts(parts), volume);
      return;
    case 'none':
      return;
    default:
      action satisfies never;
  }
}

const reclaimParts = (parts: Parts): ReclaimParts => ({
  ...parts,
  report: (name, event) => recordEvent(parts, 'volume', name, event),
});

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  // Decisions depend on claims and volumes alike, whichever worker wrote them.
  parts.queue.expect(key);
  try {
    if (key.startsWith(VOLUME)) await reconcileVolume(parts, key.slice(VOLUME.length));
    else await reconcileClaim(parts, key.slice(claimWork('').length));
  } catch (thrown) {
    const changed = thrown instanceof StatusError && ['Conflict', 'NotFound'].includes(thrown.reason);
    if (changed) return 0;
    throw thrown;
  }
  return undefined;
}

export const volumeBinderController: Controller = defineController({
  name: 'persistentvolume-binder',
  identity: 'persistentvolume-controller',
  watches: ['persistentvolumeclaims', 'persistentvolumes', 'pods', 'storageclasses'],
  optional: ['storageclasses'],
  writes: {
    persistentvolumeclaims: {
      update: ['spec.volumeName', 'metadata.annotations'],
      status: ['status.phase', 'status.accessModes', 'status.capacity'],
    },
    persistentvolumes: {
      update: ['spec.claimRef', 'metadata.annotations'],
      status: ['status.phase', 'status.message'],
      delete: true,
    },
    // Recyclers.
    pods: { create: true, delete: true },
  },
  recordsEvents: true,
  start(context) {
    const { client, queue } = context;
    const names = binderNames(context.vocabulary);
    const state = followVolumes(
      {
        claims: context.cacheOf('persistentvolumeclaims'),
        volumes: context.cacheOf('persistentvolumes'),
        ...(context.isServed('storageclasses') ? { classes: context.cacheOf('storageclasses') } : {}),
      },
      names,
      { onClaim: (key) => queue.add(claimWork(key)), onVolume: (name) => queue.add(volumeWork(name)) },
    );
    const parts: Parts = {
      deps: context,
      client,
      claims: context.resourceOf('persistentvolumeclaims'),
      volumes: context.resourceOf('persistentvolumes'),
      names,
      state,
      queue,
      pods: context.resourceOf('pods'),
      podCache: context.cacheOf('pods'),
    };
    const recyclers = parts.podCache.follow(({ current }) => {
      const volume = volumeOfRecycler(current.namespace, current.name);
      if (volume !== undefined) queue.add(volumeWork(volume));
    });
    return { reconcile: (key) => reconcile(parts, key), follows: [state, recyclers] };
  },
});
