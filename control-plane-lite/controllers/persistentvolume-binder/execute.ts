/** Writes a decision of the binder if the object has not changed since. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import {
  bindClaim,
  freeVolume,
  preBindVolume,
  setAnnotation,
  setClaimPhase,
  setVolumePhase,
} from './drafts.ts';
import type { BinderNames } from './model.ts';

export interface BinderClient {
  readonly client: ControllerClient;
  readonly claims: Resource;
  readonly volumes: Resource;
  readonly names: BinderNames;
}

type Edit = (draft: ApiObject) => boolean;

/** Returns the object after the change. An edit without effect is not written. @throws StatusError Conflict
 *  if the object was changed concurrently */
async function write(
  client: ControllerClient,
  resource: Resource,
  seen: ApiObject,
  edit: Edit,
  subresource?: 'status',
): Promise<ApiObject> {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = seen.metadata;
  if (!edit(copyJson(seen))) return seen;
  const { object } = await client.verbs.update({
    ref: { resource, namespace, name },
    change: (live) => {
      if (live.metadata.uid !== uid || live.metadata.resourceVersion !== resourceVersion) {
        throw new StatusError('Conflict', `${name} was changed concurrently`);
      }
      edit(live);
      return live;
    },
    dryRun: false,
    fieldManager: client.fieldManager,
    ...(subresource === undefined ? {} : { subresource }),
    caller: client.caller,
  });
  return object;
}

/** An object of the cache, which has all its members. */
const asObject = (object: PersistentVolume | PersistentVolumeClaim): ApiObject =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is one of the cache's objects under its type
  object as unknown as ApiObject;

/** Writes both sides in an order that is safe if interrupted: the volume is pre-bound before the claim is
 *  bound. */
export async function executeBinding(
  { client, claims, volumes, names }: BinderClient,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): Promise<void> {
  const preBound = await write(client, volumes, asObject(volume), (draft) =>
    preBindVolume(draft, claim, names),
  );
  const bound = await write(
    client,
    volumes,
    preBound,
    (draft) => setVolumePhase(draft, 'Bound', ''),
    'status',
  );
  const boundVolume = typed<PersistentVolume>(bound);
  const named = await write(client, claims, asObject(claim), (draft) => bindClaim(draft, boundVolume, names));
  await write(client, claims, named, (draft) => setClaimPhase(draft, 'Bound', boundVolume), 'status');
}

export async function executeClaimPhase(
  { client, claims }: BinderClient,
  claim: PersistentVolumeClaim,
  phase: 'Pending' | 'Lost',
): Promise<void> {
  await write(client, claims, asObject(claim), (draft) => setClaimPhase(draft, phase), 'status');
}

/** Annotates the claim with the responsible external provisioner. */
export async function executeProvisioning(
  { client, claims, names }: BinderClient,
  claim: PersistentVolumeClaim,
  provisioner: string,
): Promise<void> {
  await write(client, claims, asObject(claim), (draft) => {
    if (draft.metadata.annotations?.[names.provisioner] === provisioner) return false;
    setAnnotation(draft, names.betaProvisioner, provisioner);
    setAnnotation(draft, names.provisioner, provisioner);
    return true;
  });
}

/** Reports whether the phase changed. */
export async function executeVolumePhase(
  { client, volumes }: BinderClient,
  volume: PersistentVolume,
  phase: string,
  message = '',
): Promise<boolean> {
  const seen = asObject(volume);
  return (
    (await write(client, volumes, seen, (draft) => setVolumePhase(draft, phase, message), 'status')) !== seen
  );
}

export async function executeUnbinding(
  { client, volumes, names }: BinderClient,
  volume: PersistentVolume,
): Promise<void> {
  const free = await write(client, volumes, asObject(volume), (draft) => {
    freeVolume(draft, names);
    return true;
  });
  await write(client, volumes, free, (draft) => setVolumePhase(draft, 'Available', ''), 'status');
}
