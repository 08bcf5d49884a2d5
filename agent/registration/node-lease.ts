/** Lease of the node, which shows that it is alive. Pure. Source: upstream's lease controller, release 1.24. */

import type { Lease } from '#api/gen/coordination-v1.ts';
import type { Node } from '#api/gen/core-v1.ts';
import { formatMicroTime } from '#api/meta/time.ts';

export interface LeaseRules {
  readonly apiVersion: string;
  readonly namespace: string;
  readonly nodeName: string;
  readonly durationSeconds: number;
}

const NANOS_PER_MS = 1_000_000n;

const owner = ({ metadata = {} }: Node) => ({
  apiVersion: 'v1',
  kind: 'Node',
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
});

/** Returns the renewed lease, or a new one, owned by the node so that it is deleted with it. */
export function decideLease(known: Lease | undefined, node: Node, rules: LeaseRules, nowMs: number): Lease {
  const { nodeName, namespace, apiVersion, durationSeconds } = rules;
  const metadata = known?.metadata ?? { name: nodeName, namespace };
  const owned = (metadata.ownerReferences ?? []).some(({ uid }) => uid === node.metadata?.uid);
  const others = (metadata.ownerReferences ?? []).filter(({ kind }) => kind !== 'Node');
  return {
    apiVersion,
    kind: 'Lease',
    metadata: owned ? metadata : { ...metadata, ownerReferences: [...others, owner(node)] },
    spec: {
      ...known?.spec,
      holderIdentity: nodeName,
      leaseDurationSeconds: durationSeconds,
      renewTime: formatMicroTime(BigInt(Math.trunc(nowMs)) * NANOS_PER_MS),
    },
  };
}
