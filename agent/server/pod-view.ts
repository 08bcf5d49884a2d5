/** Converts pods to API objects with the running spec and its status. Pure. */

import type { Pod } from '#api/gen/core-v1.ts';
import { formatTime } from '#api/meta/time.ts';
import type { PodEntry } from '../pods/pod-manager.ts';
import type { PodDeletion } from '../pods/worker-contract.ts';
import type { DesiredState, RejectedManifest } from '../sources/types.ts';

/** As upstream, the deletion timestamp is when the grace period is over. */
export function podObject({ pod, status, deletion }: PodEntry): Pod {
  const { metadata, spec } = pod;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, ...(deletion === undefined ? {} : deletionFields(deletion)) },
    ...(spec === undefined ? {} : { spec }),
    status,
  };
}

const deletionFields = ({ atMs, gracePeriodSeconds }: PodDeletion) => ({
  deletionTimestamp: formatTime(atMs),
  deletionGracePeriodSeconds: gracePeriodSeconds,
});

/** Sorts by namespace, then name. */
export function sortPods(pods: readonly Pod[]): readonly Pod[] {
  const keyOf = ({ metadata }: Pod): string => `${metadata?.namespace}/${metadata?.name}`;
  return pods.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)));
}

/** Returns rejected manifests and conflicts of the sources. */
export interface ManifestProblems {
  readonly rejected: readonly RejectedManifest[];
  readonly conflicts: DesiredState['conflicts'];
}
