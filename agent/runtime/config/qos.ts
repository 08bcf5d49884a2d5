/** The quality of service class of a pod and the sum of what its containers ask for. Pure.
 *  Source: upstream's pod quality of service classes; sums count init containers as they run, one at a time. */
import { compareQuantities, milliValue, value } from '#api/meta/quantity.ts';
import type { Container, Pod } from '#api/schema/gen/core-v1.ts';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

export interface Amounts {
  readonly millicores: number;
  readonly memoryBytes: number;
}

const COUNTED = ['cpu', 'memory'] as const;

/** Guaranteed: every container has cpu and memory limits equal to its requests (a missing request is its limit).
 *  BestEffort: none asks for anything. Burstable: the rest. Ephemeral containers don't count. */
export function qosClass(pod: Pod): QosClass {
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  if (!containers.some(asksForAnything)) return 'BestEffort';
  return containers.every(isGuaranteed) ? 'Guaranteed' : 'Burstable';
}

const isSet = (amount: string | undefined): amount is string =>
  amount !== undefined && compareQuantities(amount, 0) > 0;

const asksForAnything = ({ resources }: Container): boolean =>
  COUNTED.some((name) => isSet(resources?.requests?.[name]) || isSet(resources?.limits?.[name]));

const isGuaranteed = ({ resources }: Container): boolean =>
  COUNTED.every((name) => {
    const limit = resources?.limits?.[name];
    const request = resources?.requests?.[name] ?? limit;
    return isSet(limit) && request !== undefined && compareQuantities(limit, request) === 0;
  });

/** Cpu and memory of the whole pod: the app containers and sidecars together, or the init container that needs
 *  more together with the sidecars started before it. Without the pod's overhead. */
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
