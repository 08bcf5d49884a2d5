/** Collects the configuration objects that PersistentVolumes reference, which pods do not name. */

import type { PersistentVolume, PersistentVolumeSpec } from '#api/gen/core-v1.ts';
import { decode } from '#api/schema/decode.ts';
import type { Json } from '../api-client/client.ts';
import { formatObjectKey, type ObjectKey } from './references.ts';

/** Drops fields of newer servers that this version does not know. */
const LENIENT = { unknownFields: 'ignore', missingFields: 'ignore' } as const;

interface Named {
  readonly name?: string;
  readonly namespace?: string;
}

/** Returns Secrets that a node reads for the source of the volume; without those of `csi` for attaching or
 *  expanding. */
function secretsOf(spec: PersistentVolumeSpec): readonly (Named | undefined)[] {
  const { azureFile } = spec;
  const { secretNamespace: namespace = '' } = azureFile ?? {};
  return [
    azureFile === undefined ? undefined : { name: azureFile.secretName, namespace },
    spec.cephfs?.secretRef,
    spec.csi?.nodeStageSecretRef,
    spec.csi?.nodePublishSecretRef,
    spec.flexVolume?.secretRef,
    spec.iscsi?.secretRef,
    spec.rbd?.secretRef,
    spec.scaleIO?.secretRef,
    spec.storageos?.secretRef,
  ];
}

export interface VolumeReferences {
  /** Claim of the volume; absent while it is unbound. */
  readonly claim?: ObjectKey;
  /** Secrets and Endpoints; the default namespace is that of the claim. */
  readonly names: readonly ObjectKey[];
}

export function persistentVolumeReferences({ spec }: PersistentVolume): VolumeReferences {
  const { name: claimName = '', namespace: own = '' } = spec?.claimRef ?? {};
  if (spec === undefined || claimName === '' || own === '') return { names: [] };
  const keyOf = (kind: ObjectKey['kind'], { name = '', namespace = '' }: Named): readonly ObjectKey[] =>
    name === '' ? [] : [{ kind, namespace: namespace === '' ? own : namespace, name }];
  const { endpoints = '', endpointsNamespace = '' } = spec.glusterfs ?? {};
  return {
    claim: { kind: 'PersistentVolumeClaim', namespace: own, name: claimName },
    names: [
      ...secretsOf(spec).flatMap((secret) => (secret === undefined ? [] : keyOf('Secret', secret))),
      ...keyOf('Endpoints', { name: endpoints, namespace: endpointsNamespace }),
    ],
  };
}

/** Returns the same for a volume as received from the server. Pure. */
export function referencesOfVolume(object: Json): VolumeReferences {
  return persistentVolumeReferences(
    decode<PersistentVolume>('core/v1.PersistentVolume', object, LENIENT).value,
  );
}

/** References of volumes that claims of pods on this node lead to. */
export interface LedTo {
  /** Records the references of an object that was read; only volumes have any. */
  note(key: ObjectKey, object: Json): void;
  has(key: ObjectKey): boolean;
  /** Drops a claim that is no longer referenced; ignores other kinds. */
  forget(key: ObjectKey): void;
}

export function createLedTo(): LedTo {
  const volumes = new Map<string, { readonly claim: string; readonly keys: ReadonlySet<string> }>();
  return {
    note(key, object) {
      if (key.kind !== 'PersistentVolume') return;
      const { claim, names } = referencesOfVolume(object);
      if (claim === undefined) volumes.delete(key.name);
      else
        volumes.set(key.name, {
          claim: formatObjectKey(claim),
          keys: new Set(names.map(formatObjectKey)),
        });
    },
    has(key) {
      const text = formatObjectKey(key);
      return volumes.values().some(({ keys }) => keys.has(text));
    },
    forget(key) {
      const text = formatObjectKey(key);
      for (const [name, { claim }] of volumes) if (claim === text) volumes.delete(name);
    },
  };
}
