/** Decides on mirrors of static pods: created so that the API server shows the pods, and deleted with their
 *  manifests. Changes of a mirror have no effect on the pod; a deleted or outdated one is created again.
 *  Pure; effects are in `mirror-reconciler.ts`. Source: mirror pods, document 3 §1; upstream 1.24. */
import type { Node, Pod } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Json } from '../api-client/client.ts';
import { metadataText, objectName } from '../api-client/object-fields.ts';

export type MirrorStep =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly pod: Pod }
  /** Without a grace period: no container belongs to it. */
  | { readonly kind: 'delete'; readonly mirror: Json };

/** Returns the digest of the manifest, which identifies the version of a static pod. */
const hashOf = (pod: Pod, vocabulary: Vocabulary): string =>
  pod.metadata?.annotations?.[vocabulary.configHash] ?? '';

/** Returns the digest for which a mirror was created. */
export function mirrorHash(mirror: Json, vocabulary: Vocabulary): string | undefined {
  const { metadata } = mirror;
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined;
  const hash = isObject(annotations) ? annotations[vocabulary.configMirror] : undefined;
  return typeof hash === 'string' ? hash : undefined;
}

/** Reports whether the mirror shows this very pod, and not an earlier one of the same name. */
export const isMirrorOf = (mirror: Json, pod: Pod, vocabulary: Vocabulary): boolean =>
  mirrorHash(mirror, vocabulary) === hashOf(pod, vocabulary);

/** @param wanted the static pod of this name, if any
 *  @param mirror the pod of this name on the server
 *  @param isComplete every source of static pods has been read: an unnamed pod is unwanted */
export function decideMirror(
  wanted: Pod | undefined,
  mirror: Json | undefined,
  isComplete: boolean,
  vocabulary: Vocabulary,
): MirrorStep {
  if (mirror === undefined) return wanted === undefined ? { kind: 'none' } : { kind: 'create', pod: wanted };
  const isLeaving = metadataText(mirror, 'deletionTimestamp') !== undefined;
  if (wanted === undefined) return isComplete || isLeaving ? { kind: 'delete', mirror } : { kind: 'none' };
  const isCurrent = isMirrorOf(mirror, wanted, vocabulary) && !isLeaving;
  return isCurrent ? { kind: 'none' } : { kind: 'delete', mirror };
}

/** Returns the mirror of a static pod. It is owned by the Node and deleted with it. */
export function mirrorOf(pod: Pod, node: Node, vocabulary: Vocabulary): Json {
  const { name, namespace, labels, annotations = {} } = pod.metadata ?? {};
  const { name: nodeName = '', uid = '' } = node.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...annotations, [vocabulary.configMirror]: hashOf(pod, vocabulary) },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid, controller: true }],
    },
    spec: { ...pod.spec, nodeName },
  };
}

/** Indexes mirrors by pod name. */
export function mirrorsByName(objects: readonly Json[], vocabulary: Vocabulary): ReadonlyMap<string, Json> {
  const mirrors = objects.filter((object) => mirrorHash(object, vocabulary) !== undefined);
  return new Map(mirrors.map((mirror) => [objectName(mirror), mirror]));
}
