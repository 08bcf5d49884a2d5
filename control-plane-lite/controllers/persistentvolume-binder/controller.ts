/** Persistent volume binder: binds claims to volumes, and updates the phase of volumes whose claims are
 *  deleted. */
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { createControllerClient } from '../workloads-kit/controller-base.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import { createKeyLoop, type KeyLoop } from '../workloads-kit/run-keys.ts';
import { type ClaimAction, decideClaim, type Told } from './decide-claim.ts';
import { decideVolume, type VolumeAction } from './decide-volume.ts';
import {
  type BinderClient,
  executeBinding,
  executeClaimPhase,
  executeProvisioning,
  executeUnbinding,
  executeVolumePhase,
} from './execute.ts';
import { binderNames, claimKeyOf } from './model.ts';
import { type BinderState, followVolumes } from './state.ts';

interface Parts extends BinderClient {
  readonly deps: WorkloadDeps;
  readonly state: BinderState;
  readonly loop: KeyLoop;
}

/** Keys of claims and volumes in one queue; neither contains a blank. */
const VOLUME = 'volume ';
const claimWork = (key: string): string => `claim ${key}`;
const volumeWork = (name: string): string => `${VOLUME}${name}`;

/** The cached object of an event. */
function tell(
  { deps, client, claims, volumes }: Parts,
  kind: 'claim' | 'volume',
  key: string,
  told: Told | undefined,
): void {
  const { storage } = kind === 'claim' ? claims : volumes;
  const object: ApiObject | undefined = deps.cache.resource(storage).get(key)?.object();
  if (object !== undefined && told !== undefined) {
    client.events.record(object, told.type, told.reason, told.message);
  }
}

async function visitClaim(parts: Parts, key: string): Promise<void> {
  const { state, words } = parts;
  const claim = state.claim(key);
  if (claim === undefined) return;
  const action: ClaimAction = decideClaim(claim, {
    words,
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
      tell(parts, 'claim', key, action.told);
      return;
    case 'lose':
      if (claim.status?.phase !== 'Lost') tell(parts, 'claim', key, action.told);
      await executeClaimPhase(parts, claim, 'Lost');
      return;
    case 'wait':
      tell(parts, 'claim', key, action.told);
      await executeClaimPhase(parts, claim, 'Pending');
      return;
    default:
      action satisfies never;
  }
}

async function visitVolume(parts: Parts, name: string): Promise<void> {
  const { state, words, deps, loop } = parts;
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
  const action: VolumeAction = decideVolume(volume, claimOf(claimKey), words);
  switch (action.kind) {
    case 'phase': {
      const changed = await executeVolumePhase(parts, volume, action.phase, action.told?.message);
      if (changed) tell(parts, 'volume', name, action.told);
      return;
    }
    case 'askClaim':
      if (claimKey !== undefined) loop.due(claimWork(claimKey));
      return;
    case 'refuse':
      tell(parts, 'volume', name, action.told);
      return;
    case 'unbind':
      await executeUnbinding(parts, volume);
      return;
    case 'none':
      return;
    default:
      action satisfies never;
  }
}

async function visit(parts: Parts, key: string): Promise<number | undefined> {
  // Decisions depend on claims and volumes alike, whichever worker wrote them.
  parts.loop.expect(key);
  try {
    if (key.startsWith(VOLUME)) await visitVolume(parts, key.slice(VOLUME.length));
    else await visitClaim(parts, key.slice(claimWork('').length));
  } catch (thrown) {
    const changed = thrown instanceof StatusError && ['Conflict', 'NotFound'].includes(thrown.reason);
    if (changed) return 0;
    throw thrown;
  }
  return undefined;
}

/** Runs until the signal is aborted. */
export async function runVolumeBinder(deps: WorkloadDeps, signal: AbortSignal): Promise<void> {
  const { cache, vocabulary } = deps;
  const claims = findResource(deps, 'v1', 'persistentvolumeclaims');
  const volumes = findResource(deps, 'v1', 'persistentvolumes');
  if (claims === undefined || volumes === undefined) return;
  const classes = findResource(deps, `storage.${vocabulary.apiGroupDomain}/v1`, 'storageclasses');
  const words = binderNames(vocabulary);
  const client = createControllerClient(deps, 'persistentvolume-controller', signal);
  const loop = createKeyLoop(deps, (key) => visit(parts, key));
  const state = followVolumes(
    {
      claims: cache.resource(claims.storage),
      volumes: cache.resource(volumes.storage),
      ...(classes === undefined ? {} : { classes: cache.resource(classes.storage) }),
    },
    words,
    { onClaim: (key) => loop.due(claimWork(key)), onVolume: (name) => loop.due(volumeWork(name)) },
  );
  const parts: Parts = { deps, client, claims, volumes, words, state, loop };
  await loop.run(signal, state);
}
