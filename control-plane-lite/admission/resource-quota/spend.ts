/** Remaining quota as requests are charged one by one. Pure. */

import type { ResourceQuota } from '#api/gen/core-v1.ts';
import { compareQuantities } from '#api/meta/quantity.ts';
import {
  type Amounts,
  addAmounts,
  formatAmounts,
  NONE,
  onlyNamed,
  readAmounts,
} from '../../quota/amounts.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';

/** Quota with the usage of requests in flight. */
export interface Purse {
  readonly name: string;
  readonly hard: Amounts;
  readonly used: Amounts;
}

export function purseOf(quota: ApiObject): Purse {
  const { status } = typed<ResourceQuota>(quota);
  return {
    name: quota.metadata.name ?? '',
    hard: readAmounts(status?.hard),
    used: readAmounts(status?.used),
  };
}

export type Spending =
  | { readonly kind: 'spent'; readonly purse: Purse }
  /** The quota has nothing to do with it. */
  | { readonly kind: 'free' }
  | { readonly kind: 'refused'; readonly why: string };

/** Returns the quota charged with `amounts`, or the reason why it is exceeded. */
export function spend(purse: Purse, amounts: Amounts): Spending {
  const { name, hard, used } = purse;
  const requested = onlyNamed(amounts, hard);
  if (requested.size === 0) return { kind: 'free' };
  const unknown = [...requested.keys()].filter((each) => !used.has(each));
  if (unknown.length > 0) {
    const why = `status unknown for quota: ${name}, resources: ${unknown.toSorted().join(',')}`;
    return { kind: 'refused', why };
  }
  const next = addAmounts(used, requested);
  const exceeded = new Set(
    [...requested.keys()].filter(
      (each) => compareQuantities(next.get(each) ?? NONE, hard.get(each) ?? NONE) > 0,
    ),
  );
  if (exceeded.size === 0) return { kind: 'spent', purse: { ...purse, used: next } };
  const [wanted, before, most] = [requested, used, hard].map((each) =>
    formatAmounts(onlyNamed(each, exceeded)),
  );
  const why = `exceeded quota: ${name}, requested: ${wanted}, used: ${before}, limited: ${most}`;
  return { kind: 'refused', why };
}
