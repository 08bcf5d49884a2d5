/** Mirrors of static pods on the API server: made so that they are seen there, and gone with their manifests. What is
 *  done to a mirror changes nothing here; one that was deleted or is out of date is made anew. Pure decisions; the
 *  effects are `mirror-keeper.ts`. Source: document 3, section 1; upstream 1.24 mirror pods. */
import type { Node, Pod } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Json } from '../api-client/client.ts';
import { isObject, metadataText, objectName } from '../api-client/object-fields.ts';

export type MirrorStep =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly pod: Pod }
  /** Without grace: nothing runs for it. */
  | { readonly kind: 'delete'; readonly mirror: Json };

/** What of a static pod its mirror shows: the digest of its manifest. */
const hashOf = (pod: Pod, words: Vocabulary): string => pod.metadata?.annotations?.[words.configHash] ?? '';

/** The digest that a mirror was made for. */
export function mirrorHash(mirror: Json, words: Vocabulary): string | undefined {
  const { metadata } = mirror;
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined;
  const hash = isObject(annotations) ? annotations[words.configMirror] : undefined;
  return typeof hash === 'string' ? hash : undefined;
}

/** Reports whether the mirror shows this very pod, and not an earlier one of the same name. */
export const isMirrorOf = (mirror: Json, pod: Pod, words: Vocabulary): boolean =>
  mirrorHash(mirror, words) === hashOf(pod, words);

/** @param wanted the static pod of this name, if any
 *  @param mirror what the server has under this name
 *  @param isComplete every source of static pods was read: what none names is not wanted */
export function decideMirror(
  wanted: Pod | undefined,
  mirror: Json | undefined,
  isComplete: boolean,
  words: Vocabulary,
): MirrorStep {
  if (mirror === undefined) return wanted === undefined ? { kind: 'none' } : { kind: 'create', pod: wanted };
  const isLeaving = metadataText(mirror, 'deletionTimestamp') !== undefined;
  if (wanted === undefined) return isComplete || isLeaving ? { kind: 'delete', mirror } : { kind: 'none' };
  const isCurrent = isMirrorOf(mirror, wanted, words) && !isLeaving;
  return isCurrent ? { kind: 'none' } : { kind: 'delete', mirror };
}

/** The mirror of a static pod. It belongs to the node: it goes when the node does. */
export function mirrorOf(pod: Pod, node: Node, words: Vocabulary): Json {
  const { name, namespace, labels, annotations = {} } = pod.metadata ?? {};
  const { name: nodeName = '', uid = '' } = node.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...annotations, [words.configMirror]: hashOf(pod, words) },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid, controller: true }],
    },
    spec: { ...pod.spec, nodeName },
  };
}

/** Mirrors by the names of their pods. */
export function mirrorsByName(objects: readonly Json[], words: Vocabulary): ReadonlyMap<string, Json> {
  const mirrors = objects.filter((object) => mirrorHash(object, words) !== undefined);
  return new Map(mirrors.map((mirror) => [objectName(mirror), mirror]));
}
