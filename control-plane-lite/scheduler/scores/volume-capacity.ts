/** Scorer: nodes whose volumes fit the claims closely, by the gate VolumeCapacityPriority. Source: upstream's volume
 *  binding, release 1.24. */
import type { PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { parseQuantity } from '#api/meta/quantity.ts';
import { chooseVolumes, claimState } from '../fleet/claims.ts';
import type { FleetView } from '../fleet/fleet.ts';
import type { NodeInfo, PodInfo } from '../fleet/model.ts';
import { MAX_SCORE, type Scorer } from './score.ts';

interface Waiting {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
}

interface Use {
  requested: bigint;
  capacity: bigint;
}

const nanosOf = (amount: string | undefined): bigint => parseQuantity(amount ?? '0').nanos;

function waitingClaims({ shape }: PodInfo, { volumes }: FleetView): readonly Waiting[] {
  return shape.claims.flatMap((name) => {
    const claim = volumes.claim(`${shape.namespace}/${name}`);
    const state = claim && claimState(claim, volumes);
    return claim === undefined || state?.kind !== 'waiting'
      ? []
      : [{ claim, storageClass: state.storageClass }];
  });
}

/** Utilization in percent, rounded down. */
const percentOf = ({ requested, capacity }: Use): number =>
  capacity === 0n || requested > capacity ? 100 : Number((requested * 100n) / capacity);

function scoreOf(waiting: readonly Waiting[], node: NodeInfo, fleet: FleetView): number {
  const choices = chooseVolumes(waiting, node, fleet);
  const uses = new Map<string, Use>();
  for (const choice of typeof choices === 'string' ? [] : choices) {
    if (choice.kind !== 'volume') continue;
    const { spec } = choice.volume;
    const storageClass = spec?.storageClassName ?? '';
    const use = uses.get(storageClass) ?? { requested: 0n, capacity: 0n };
    uses.set(storageClass, use);
    use.requested += nanosOf(choice.claim.spec?.resources?.requests?.['storage']);
    use.capacity += nanosOf(spec?.capacity?.['storage']);
  }
  if (uses.size === 0) return 0;
  const sum = [...uses.values()].reduce((total, use) => total + percentOf(use), 0);
  return Math.round(((sum / uses.size) * MAX_SCORE) / 100);
}

export const volumeCapacity: Scorer = {
  name: 'VolumeBinding',
  weight: 1,
  score(pod, nodes, fleet) {
    if (pod.shape.claims.length === 0 || !fleet.gates.has('VolumeCapacityPriority')) return undefined;
    const waiting = waitingClaims(pod, fleet);
    return waiting.length === 0 ? undefined : nodes.map((node) => scoreOf(waiting, node, fleet));
  },
};
