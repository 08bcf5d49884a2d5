/** Identity of a pod and its textual forms. */
import type { Pod } from '#api/gen/core-v1.ts';

export interface PodIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A pod with its identity, derived once where the pod enters a module. */
export interface IdentifiedPod extends PodIdentity {
  readonly pod: Pod;
}

/** @throws Error when the pod lacks uid, namespace or name, which every source sets */
export function podIdentity(pod: Pod): PodIdentity {
  const { uid, namespace, name } = pod.metadata ?? {};
  if (uid === undefined || namespace === undefined || name === undefined) {
    throw new Error(`pod has no identity: namespace ${namespace}, name ${name}, uid ${uid}`);
  }
  return { uid, namespace, name };
}

/** `namespace/name`, for logs and messages. */
export const podFullName = (identity: { readonly namespace: string; readonly name: string }): string =>
  `${identity.namespace}/${identity.name}`;

/** `web_default(uid)`, the form in upstream's messages. */
export const podLabel = (pod: Pod): string =>
  `${pod.metadata?.name}_${pod.metadata?.namespace}(${pod.metadata?.uid})`;
