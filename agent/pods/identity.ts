/** The names by which a pod is known. */
import type { Pod } from '#api/schema/gen/core-v1.ts';

export interface PodIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** @throws Error when the pod has no uid, namespace or name: every source sets them. */
export function podIdentity(pod: Pod): PodIdentity {
  const { uid, namespace, name } = pod.metadata ?? {};
  if (uid === undefined || namespace === undefined || name === undefined) {
    throw new Error(`pod has no identity: namespace ${namespace}, name ${name}, uid ${uid}`);
  }
  return { uid, namespace, name };
}

/** `namespace/name`, the form for people. */
export const podFullName = (identity: { readonly namespace: string; readonly name: string }): string =>
  `${identity.namespace}/${identity.name}`;

/** `web_default(uid)`, the form that messages of the field use. */
export const podLabel = (pod: Pod): string =>
  `${pod.metadata?.name}_${pod.metadata?.namespace}(${pod.metadata?.uid})`;
