/** Which configuration objects PersistentVolumes lead to: no pod names them. */
import { decode } from '#api/schema/decode.ts';
import type { PersistentVolume, PersistentVolumeSpec } from '#api/schema/gen/core-v1.ts';
import type { Json } from '../api-client/client.ts';
import { formatObjectKey, type ObjectKey } from './references.ts';

/** What newer servers know and we do not is left out. */
const LENIENT = { unknownFields: 'ignore', missingFields: 'ignore' } as const;

interface Named {
  readonly name?: string;
  readonly namespace?: string;
}

/** Secrets that a node reads for the volume's source; those of `csi` for whoever attaches or grows it are not. */
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
  /** The claim that the volume is for; absent while it is for none. */
  readonly claim?: ObjectKey;
  /** Secrets and Endpoints; where the volume says no namespace, that of its claim is meant. */
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

/** The same of a volume as the server sends it. Pure. */
export function referencesOfVolume(object: Json): VolumeReferences {
  return persistentVolumeReferences(
    decode<PersistentVolume>('core/v1.PersistentVolume', object, LENIENT).value,
  );
}

/** What volumes name that claims of this node's pods led to. */
export interface LedTo {
  /** Takes note of an object that was read; of volumes alone there is something to note. */
  note(key: ObjectKey, object: Json): void;
  has(key: ObjectKey): boolean;
  /** Nobody names the claim any longer. Of other kinds there is nothing to forget. */
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
