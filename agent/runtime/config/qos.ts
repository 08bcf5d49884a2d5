/** Sum of the requests of a pod's containers. Pure. Init containers count as they run, one at a time. */

import type { Container, Pod } from '#api/gen/core-v1.ts';
import { addInt64, type Int64, maxInt64 } from '#api/kit/int64.ts';
import { exactMilliValue, exactValue } from '#api/meta/quantity.ts';

/** Exact amounts, of which sums may exceed 64 bits. */
export interface Amounts {
  readonly millicores: Int64;
  readonly memoryBytes: Int64;
}

/** Returns CPU and memory of the whole pod: app containers and sidecars together, or the init container that
 *  requires more together with the sidecars started before it. Excludes the pod overhead. */
export function podAmounts(pod: Pod, list: 'requests' | 'limits'): Amounts {
  let sidecars: Amounts = NOTHING;
  let highestInit: Amounts = NOTHING;
  for (const container of pod.spec?.initContainers ?? []) {
    const own = amountsOf(container, list);
    if (container.restartPolicy === 'Always') sidecars = addAmounts(sidecars, own);
    highestInit = highest(
      highestInit,
      container.restartPolicy === 'Always' ? sidecars : addAmounts(sidecars, own),
    );
  }
  const apps = (pod.spec?.containers ?? []).map((container) => amountsOf(container, list));
  return highest(apps.reduce(addAmounts, sidecars), highestInit);
}

export const NOTHING: Amounts = { millicores: 0, memoryBytes: 0 };

function amountsOf({ resources }: Container, list: 'requests' | 'limits'): Amounts {
  const amounts = resources?.[list] ?? {};
  return {
    millicores: exactMilliValue(amounts['cpu'] ?? '0'),
    memoryBytes: exactValue(amounts['memory'] ?? '0'),
  };
}

export const addAmounts = (a: Amounts, b: Amounts): Amounts => ({
  millicores: addInt64(a.millicores, b.millicores),
  memoryBytes: addInt64(a.memoryBytes, b.memoryBytes),
});

const highest = (a: Amounts, b: Amounts): Amounts => ({
  millicores: maxInt64(a.millicores, b.millicores),
  memoryBytes: maxInt64(a.memoryBytes, b.memoryBytes),
});
