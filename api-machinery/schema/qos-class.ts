/** The quality of service class of a pod. Pure. Source: upstream's pod quality of service classes. */

import type { Container, Pod } from '../gen/core-v1.ts';
import { compareQuantities } from '../meta/quantity.ts';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const COUNTED = ['cpu', 'memory'] as const;

/** Guaranteed: every container has cpu and memory limits equal to its requests (a missing request is its limit).
 *  BestEffort: none has requests or limits. Burstable: the rest. Ephemeral containers don't count. */
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
