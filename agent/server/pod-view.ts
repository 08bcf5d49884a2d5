/** Pods as the API shows them: the spec that runs and its status. Pure. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { PodEntry } from '../pods/pod-manager.ts';
import type { DesiredState, RejectedManifest } from '../sources/types.ts';

export function podObject({ pod, status, removing }: PodEntry, nowText: string): Pod {
  const { metadata, spec } = pod;
  const deletion = removing ? { deletionTimestamp: metadata?.deletionTimestamp ?? nowText } : {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, ...deletion },
    ...(spec === undefined ? {} : { spec }),
    status,
  };
}

/** By namespace, then name. */
export function sortPods(pods: readonly Pod[]): readonly Pod[] {
  const keyOf = ({ metadata }: Pod): string => `${metadata?.namespace}/${metadata?.name}`;
  return pods.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)));
}

/** What the sources hold that does not run, and why. */
export interface ManifestProblems {
  readonly rejected: readonly RejectedManifest[];
  readonly conflicts: DesiredState['conflicts'];
}
