/** Usage of a quota. Pure. Source: upstream's resource quota controller, release 1.24. */
import type { Pod, ResourceQuota, ResourceQuotaStatus } from '#api/gen/core-v1.ts';
import { type Amounts, addAmounts, NONE, writeAmounts } from '../../quota/amounts.ts';
import { isInScopes } from '../../quota/pods.ts';
import { concernsKind, type Domains, usageOf } from '../../quota/usage.ts';
import type { ApiObject, ResourceInfo } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';

/** All objects of a kind in the namespace of a quota. */
export interface Counted {
  readonly kind: Pick<ResourceInfo, 'group' | 'plural'>;
  readonly objects: Iterable<ApiObject>;
}

/** `counted`: all countable kinds; objects are requested only for those that the quota limits. `promised`:
 *  charged and not countable yet. */
export function quotaStatus(
  { spec = {}, status }: ResourceQuota,
  counted: Iterable<Counted>,
  vocabulary: Domains,
  nowMs: number,
  promised: readonly Amounts[] = [],
): ResourceQuotaStatus {
  const hard = spec.hard ?? {};
  const names = Object.keys(hard);
  let sum: Amounts = new Map();
  const known = new Set<string>();
  for (const { kind, objects } of counted) {
    const concerned = names.filter((name) => concernsKind(kind, name, vocabulary));
    if (concerned.length === 0) continue;
    for (const name of concerned) known.add(name);
    const isPod = kind.group === '' && kind.plural === 'pods';
    for (const object of objects) {
      const pod = isPod ? typed<Pod>(object) : undefined;
      if (isInScopes(spec, pod)) sum = addAmounts(sum, usageOf(kind, object, vocabulary, nowMs));
    }
  }
  for (const delta of promised) sum = addAmounts(sum, delta);
  const used = new Map([...known].map((name) => [name, sum.get(name) ?? NONE]));
  // The usage of resources that cannot be counted stays as recorded.
  const before = Object.entries(status?.used ?? {}).filter(([name]) => names.includes(name));
  return { hard: { ...hard }, used: { ...Object.fromEntries(before), ...writeAmounts(used) } };
}
