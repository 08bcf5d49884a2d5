/** Writes what was decided, if the object is still the one that it was decided upon. */
import { copyJson } from '#api/codec/copy-json.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/schema/gen/core-v1.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { Hands } from '../workloads-kit/family.ts';
import { bindClaim, freeVolume, keepVolume, setAnnotation, setClaimPhase, setVolumePhase } from './drafts.ts';
import type { BinderWords } from './model.ts';

export interface BinderHands {
  readonly hands: Hands;
  readonly claims: Resource;
  readonly volumes: Resource;
  readonly words: BinderWords;
}

type Edit = (draft: ApiObject) => boolean;

/** The object after the change. An edit that changes nothing is not written.
 *  @throws StatusError Conflict if somebody else changed it meanwhile */
async function write(
  hands: Hands,
  resource: Resource,
  seen: ApiObject,
  edit: Edit,
  subresource?: 'status',
): Promise<ApiObject> {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = seen.metadata;
  if (!edit(copyJson(seen))) return seen;
  const { object } = await hands.verbs.update(
    { resource, namespace, name },
    (live) => {
      if (live?.metadata.uid !== uid || live.metadata.resourceVersion !== resourceVersion) {
        throw new StatusError('Conflict', `${name} was changed by somebody else`);
      }
      edit(live);
      return live;
    },
    {
      dryRun: false,
      fieldManager: hands.fieldManager,
      allowCreate: false,
      ...(subresource === undefined ? {} : { subresource }),
    },
    hands.caller,
  );
  return object;
}

/** An object of the cache, which has all its members. */
const asObject = (object: PersistentVolume | PersistentVolumeClaim): ApiObject =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is one of the cache's objects under its type
  object as unknown as ApiObject;

/** Both sides, in the order in which a crash between them does no harm: the volume is kept before the claim has it. */
export async function executeBinding(
  { hands, claims, volumes, words }: BinderHands,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): Promise<void> {
  const kept = await write(hands, volumes, asObject(volume), (draft) => keepVolume(draft, claim, words));
  const bound = await write(hands, volumes, kept, (draft) => setVolumePhase(draft, 'Bound', ''), 'status');
  const taken = typed<PersistentVolume>(bound);
  const given = await write(hands, claims, asObject(claim), (draft) => bindClaim(draft, taken, words));
  await write(hands, claims, given, (draft) => setClaimPhase(draft, 'Bound', taken), 'status');
}

export async function executeClaimPhase(
  { hands, claims }: BinderHands,
  claim: PersistentVolumeClaim,
  phase: 'Pending' | 'Lost',
): Promise<void> {
  await write(hands, claims, asObject(claim), (draft) => setClaimPhase(draft, phase), 'status');
}

/** Tells external provisioners which of them is meant. */
export async function executeProvisioning(
  { hands, claims, words }: BinderHands,
  claim: PersistentVolumeClaim,
  provisioner: string,
): Promise<void> {
  await write(hands, claims, asObject(claim), (draft) => {
    if (draft.metadata.annotations?.[words.provisioner] === provisioner) return false;
    setAnnotation(draft, words.betaProvisioner, provisioner);
    setAnnotation(draft, words.provisioner, provisioner);
    return true;
  });
}

/** Says whether it was not in the phase before. */
export async function executeVolumePhase(
  { hands, volumes }: BinderHands,
  volume: PersistentVolume,
  phase: string,
  message = '',
): Promise<boolean> {
  const seen = asObject(volume);
  return (
    (await write(hands, volumes, seen, (draft) => setVolumePhase(draft, phase, message), 'status')) !== seen
  );
}

export async function executeUnbinding(
  { hands, volumes, words }: BinderHands,
  volume: PersistentVolume,
): Promise<void> {
  const free = await write(hands, volumes, asObject(volume), (draft) => {
    freeVolume(draft, words);
    return true;
  });
  await write(hands, volumes, free, (draft) => setVolumePhase(draft, 'Available', ''), 'status');
}
