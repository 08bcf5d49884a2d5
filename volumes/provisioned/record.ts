/** Record of a local volume, beside its content. Pure. */
import { parseJsonText } from '#api/codec/json-text.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import { LOCAL_VOLUME_KINDS, type LocalVolumeKind, type LocalVolumeSpec } from '../contract/local-volumes.ts';

export interface LocalVolumeRecord extends LocalVolumeSpec {
  /** `creating`: its content is incomplete, and no pod has seen it. */
  readonly state: 'creating' | 'ready';
  readonly used: boolean;
  /** UIDs of pods that have used it; those of deleted pods stay until the next write. */
  readonly users: readonly string[];
}

const VERSION = 1;
const LONGEST_NAME = 250;

/** Reports whether the name may be that of a directory: what clients send is checked by this alone. */
export const isVolumeName = (name: string): boolean =>
  name.length <= LONGEST_NAME && /^[a-z0-9][a-z0-9._-]*$/.test(name);

const isKind = (value: unknown): value is LocalVolumeKind =>
  LOCAL_VOLUME_KINDS.some((kind) => kind === value);

export const formatRecord = (record: LocalVolumeRecord): string =>
  JSON.stringify({ version: VERSION, ...record });

/** @throws Error if the text was not written by this version */
export function parseRecord(text: string, name: string): LocalVolumeRecord {
  const value = parseJsonText(text);
  const refuse = (why: string): Error => new Error(`record of local volume ${name}: ${why}`);
  if (!isObject(value) || value['version'] !== VERSION) throw refuse('was not written by this version');
  const { kind, owner, sizeBytes, reclaimPolicy, claim, state, used, users } = value;
  if (value['name'] !== name) throw refuse(`names ${JSON.stringify(value['name'])}`);
  if (!isKind(kind)) throw refuse('kind is unknown');
  if (owner !== 'manifest' && owner !== 'server') throw refuse('owner is unknown');
  if (typeof sizeBytes !== 'number' || !Number.isSafeInteger(sizeBytes) || sizeBytes < 0)
    throw refuse('sizeBytes is not a size');
  if (reclaimPolicy !== 'Delete' && reclaimPolicy !== 'Retain') throw refuse('reclaimPolicy is unknown');
  if (state !== 'creating' && state !== 'ready') throw refuse('state is unknown');
  if (!isObject(claim)) throw refuse('claim is missing');
  return {
    name,
    kind,
    owner,
    sizeBytes,
    reclaimPolicy,
    claim: { namespace: textOf(claim['namespace']), name: textOf(claim['name']) },
    state,
    used: used === true,
    users: (Array.isArray(users) ? users : []).filter((uid): uid is string => typeof uid === 'string'),
  };
}
