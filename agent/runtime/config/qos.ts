/** Sum of the requests of a pod's containers. Pure. Init containers count as they run, one at a time. */

import type { Container, Pod } from '#api/gen/core-v1.ts';
import { milliValue, value } from '#api/meta/quantity.ts';

export interface Amounts {
  readonly millicores: number;
  readonly memoryBytes: number;
}

/** Returns CPU and memory of the whole pod: app containers and sidecars together, or the init container that
 *  requires more together with the sidecars started before it. Excludes the pod overhead. */
export function podAmounts(pod: Pod, list: 'requests' | 'limits'): Amounts {
  let sidecars: Amounts = NOTHING;
  let highestInit: Amounts = NOTHING;
  for (const container of pod.spec?.initContainers ?? []) {
    const own = amountsOf(container, list);
    if (container.restartPolicy === 'Always') sidecars = add(sidecars, own);
    highestInit = highest(highestInit, container.restartPolicy === 'Always' ? sidecars : add(sidecars, own));
  }
  const apps = (pod.spec?.containers ?? []).map((container) => amountsOf(container, list));
  return highest(apps.reduce(add, sidecars), highestInit);
}

const NOTHING: Amounts = { millicores: 0, memoryBytes: 0 };

function amountsOf({ resources }: Container, list: 'requests' | 'limits'): Amounts {
  const amounts = resources?.[list] ?? {};
  return { millicores: milliValue(amounts['cpu'] ?? '0'), memoryBytes: value(amounts['memory'] ?? '0') };
}

const add = (a: Amounts, b: Amounts): Amounts => ({
  millicores: a.millicores + b.millicores,
  memoryBytes: a.memoryBytes + b.memoryBytes,
});

const highest = (a: Amounts, b: Amounts): Amounts => ({
  millicores: Math.max(a.millicores, b.millicores),
  memoryBytes: Math.max(a.memoryBytes, b.memoryBytes),
});
