/** Graph of the objects that nodes may read because pods on them refer to them, updated with every change of
 *  pods, volumes and attachments, so that authorization needs lookups only. Source: upstream's graph of the
 *  node authorizer, release 1.24; node authorization, document 2 §2.7. */
import type { PersistentVolume, Pod } from '#api/gen/core-v1.ts';
import type { VolumeAttachment } from '#api/gen/storage-v1.ts';
import type { CacheChange, CachedObject, ResourceCache, WatchHandle } from '../cache/contract.ts';
import { podReferences } from '../resources/core/pod-references.ts';
import { volumeSecrets } from '../resources/core/volume-secrets.ts';
import { typed } from '../resources/view.ts';

/** Objects that a pod may refer to: each kind has its own key prefix, so that equal names of different kinds
 *  differ. */
export type ReferredKind = 'secret' | 'configMap' | 'claim' | 'account';

export interface NodeGraph extends WatchHandle {
  /** Reports whether a pod on the node references the object, directly or through a volume. `key`: `namespace/name`. */
  reaches(node: string, kind: ReferredKind, key: string): boolean;
  /** Whether the volume is bound to a claim of a pod on the node. */
  reachesVolume(node: string, name: string): boolean;
  reachesAttachment(node: string, name: string): boolean;
}

export interface NodeGraphDeps {
  /** Absent where the resource is not served. */
  readonly pods: Pick<ResourceCache, 'follow'> | undefined;
  readonly volumes: Pick<ResourceCache, 'follow'> | undefined;
  readonly attachments: Pick<ResourceCache, 'get'> | undefined;
  /** Annotation of mirror pods, which give their nodes nothing. */
  readonly mirrorAnnotation: string;
}

interface PodEntry {
  readonly uid: string;
  readonly node: string;
  /** Ephemeral containers that it was read with: nothing else that refers may change in a pod. */
  readonly ephemeral: number;
  readonly references: readonly string[];
}

interface VolumeEntry {
  /** `namespace/name`; empty if unbound. */
  readonly claim: string;
  readonly secrets: readonly string[];
}

const referenceKey = (kind: ReferredKind, key: string): string => `${kind} ${key}`;

/** Counts the references of a node's pods. */
class References {
  readonly #byNode = new Map<string, Map<string, number>>();

  has(node: string, reference: string): boolean {
    return this.#byNode.get(node)?.has(reference) === true;
  }

  change(node: string, references: readonly string[], by: 1 | -1): void {
    const counts = this.#byNode.get(node) ?? new Map<string, number>();
    for (const reference of references) {
      const count = (counts.get(reference) ?? 0) + by;
      if (count > 0) counts.set(reference, count);
      else counts.delete(reference);
    }
    if (counts.size > 0) this.#byNode.set(node, counts);
    else this.#byNode.delete(node);
  }
}

function referencesOf({ metadata, spec }: Pod, mirrorAnnotation: string): readonly string[] {
  if (spec === undefined || metadata?.annotations?.[mirrorAnnotation] !== undefined) return [];
  const { name = '', namespace = '' } = metadata ?? {};
  const { secrets, configMaps, claims } = podReferences(spec, name);
  const { serviceAccountName = '' } = spec;
  const keys = (kind: ReferredKind, names: Iterable<string>): readonly string[] =>
    [...names].map((each) => referenceKey(kind, `${namespace}/${each}`));
  return [
    ...keys('secret', secrets),
    ...keys('configMap', configMaps),
    ...keys('claim', claims),
    ...(serviceAccountName === '' ? [] : keys('account', [serviceAccountName])),
  ];
}

class PodIndex {
  readonly references = new References();
  readonly #pods = new Map<string, PodEntry>();
  readonly #mirrorAnnotation: string;

  constructor(mirrorAnnotation: string) {
    this.#mirrorAnnotation = mirrorAnnotation;
  }

  apply({ type, current }: CacheChange): void {
    const node = type === 'DELETED' ? '' : (current.fields['spec.nodeName'] ?? '');
    const known = this.#pods.get(current.key);
    if (node === '') {
      if (known !== undefined) this.#drop(current.key, known);
      return;
    }
    const pod = typed<Pod>(current.object());
    const uid = pod.metadata?.uid ?? '';
    const ephemeral = pod.spec?.ephemeralContainers?.length ?? 0;
    // Most changes are of the status.
    if (known?.uid === uid && known.node === node && known.ephemeral === ephemeral) return;
    if (known !== undefined) this.#drop(current.key, known);
    const references = referencesOf(pod, this.#mirrorAnnotation);
    this.#pods.set(current.key, { uid, node, ephemeral, references });
    this.references.change(node, references, 1);
  }

  #drop(key: string, { node, references }: PodEntry): void {
    this.#pods.delete(key);
    this.references.change(node, references, -1);
  }
}

class VolumeIndex {
  readonly #volumes = new Map<string, VolumeEntry>();
  /** Names of the volumes that need a secret. */
  readonly #bySecret = new Map<string, Set<string>>();

  apply({ type, current }: CacheChange): void {
    const known = this.#volumes.get(current.name);
    for (const secret of known?.secrets ?? []) {
      const users = this.#bySecret.get(secret);
      users?.delete(current.name);
      if (users?.size === 0) this.#bySecret.delete(secret);
    }
    this.#volumes.delete(current.name);
    if (type === 'DELETED') return;
    const entry = volumeEntry(current);
    if (entry === undefined) return;
    this.#volumes.set(current.name, entry);
    for (const secret of entry.secrets) {
      const users = this.#bySecret.get(secret) ?? new Set();
      this.#bySecret.set(secret, users.add(current.name));
    }
  }

  claimOf(name: string): string | undefined {
    return this.#volumes.get(name)?.claim;
  }

  /** Claims whose volumes need the secret. */
  *claimsNeeding(secret: string): Generator<string> {
    for (const name of this.#bySecret.get(secret) ?? []) {
      const claim = this.claimOf(name);
      if (claim !== undefined) yield claim;
    }
  }
}

/** `undefined`: bound to no claim, so that no pod leads to it. */
function volumeEntry(volume: CachedObject): VolumeEntry | undefined {
  const { spec } = typed<PersistentVolume>(volume.object());
  const { namespace = '', name = '' } = spec?.claimRef ?? {};
  if (spec === undefined || name === '') return undefined;
  return { claim: `${namespace}/${name}`, secrets: volumeSecrets(spec) };
}

export function createNodeGraph(deps: NodeGraphDeps): NodeGraph {
  const pods = new PodIndex(deps.mirrorAnnotation);
  const volumes = new VolumeIndex();
  const { references } = pods;
  const handles = [
    deps.pods?.follow((change) => pods.apply(change)),
    deps.volumes?.follow((change) => volumes.apply(change)),
  ];
  const reachesClaim = (node: string, claim: string): boolean =>
    references.has(node, referenceKey('claim', claim));
  return {
    reaches(node, kind, key) {
      if (references.has(node, referenceKey(kind, key))) return true;
      if (kind !== 'secret') return false;
      for (const claim of volumes.claimsNeeding(key)) {
        if (reachesClaim(node, claim)) return true;
      }
      return false;
    },
    reachesVolume(node, name) {
      const claim = volumes.claimOf(name);
      return claim !== undefined && reachesClaim(node, claim);
    },
    reachesAttachment(node, name) {
      const found = deps.attachments?.get(name);
      return found !== undefined && typed<VolumeAttachment>(found.object()).spec.nodeName === node;
    },
    close() {
      for (const handle of handles) handle?.close();
    },
  };
}
