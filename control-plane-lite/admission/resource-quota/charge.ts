/** Charges quotas for a batch of requests: reads the latest state of each quota, counts the requests one by
 *  one, and writes the sum by compare-and-set. */
import { StatusError } from '#api/meta/status-error.ts';
import { type Amounts, writeAmounts } from '../../quota/amounts.ts';
import type { PendingEntry } from '../../quota/pending.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { membersOf } from '../../resources/view.ts';
import { purseOf, spend } from './spend.ts';

/** Changes the status of a quota, of which the newest state is handed in. */
export type QuotaWriter = (
  namespace: string,
  name: string,
  change: (live: ApiObject) => ApiObject,
) => Promise<void>;

/** Quota usage of one request. */
export interface Charge {
  /** Quotas that it concerns, as they were when it came. */
  readonly quotas: readonly ApiObject[];
  readonly delta: Amounts;
  /** Dry run: checked, but not charged. */
  readonly dryRun: boolean;
  readonly refuse: (why: string) => StatusError;
  /** Hears of what is about to be counted: in a change of the quota's revision, or (absent) not after all. */
  readonly promise?: PendingEntry['promise'];
}

type FieldErrors = (Error | undefined)[];

/** Rejects usage that the known state of the quotas forbids, so that no quota is charged for a request that another rejects. */
function checkAll(charges: readonly Charge[], errors: FieldErrors): void {
  const purses = new Map(
    charges.flatMap(({ quotas }) => quotas.map((quota) => [quota.metadata.name ?? '', purseOf(quota)])),
  );
  charges.forEach(({ quotas, delta, dryRun, refuse }, index) => {
    const after = new Map<string, ReturnType<typeof purseOf>>();
    for (const { metadata } of quotas) {
      const purse = purses.get(metadata.name ?? '');
      const spending = purse === undefined ? undefined : spend(purse, delta);
      if (spending?.kind === 'refused') {
        errors[index] = refuse(spending.why);
        return;
      }
      if (spending?.kind === 'spent') after.set(spending.purse.name, spending.purse);
    }
    if (!dryRun) for (const [name, purse] of after) purses.set(name, purse);
  });
}

/** Charges one quota; `mine`: indices of the charges that it concerns. */
async function chargeOne(
  write: (change: (live: ApiObject) => ApiObject) => Promise<void>,
  charges: readonly Charge[],
  mine: readonly number[],
  errors: FieldErrors,
): Promise<void> {
  let refused = new Map<number, StatusError>();
  const change = (live: ApiObject): ApiObject => {
    // Called again after a conflict: results of the previous attempt are obsolete.
    refused = new Map();
    const revision = Number(live.metadata.resourceVersion ?? 0);
    const before = purseOf(live);
    let purse = before;
    for (const index of mine) {
      const charge = charges[index];
      if (charge === undefined) continue;
      const spending = spend(purse, charge.delta);
      if (spending.kind === 'refused') refused.set(index, charge.refuse(spending.why));
      if (spending.kind === 'spent') ({ purse } = spending);
      charge.promise?.(before.name, spending.kind === 'spent' ? revision : undefined);
    }
    if (purse !== before) membersOf(live, 'status')['used'] = writeAmounts(purse.used);
    return live;
  };
  try {
    await write(change);
  } catch (thrown) {
    // A quota that was deleted meanwhile imposes no limit.
    if (thrown instanceof StatusError && thrown.reason === 'NotFound') return;
    const error =
      thrown instanceof Error ? thrown : new Error('failed to write the quota', { cause: thrown });
    for (const index of mine) errors[index] = error;
    return;
  }
  for (const [index, error] of refused) errors[index] = error;
}

/** For each charge, why it was refused. */
export async function chargeAll(
  write: QuotaWriter,
  namespace: string,
  charges: readonly Charge[],
): Promise<readonly (Error | undefined)[]> {
  const errors: FieldErrors = charges.map(() => undefined);
  if (charges.some(({ quotas, dryRun }) => dryRun || quotas.length > 1)) checkAll(charges, errors);
  const names = new Set(
    charges.flatMap(({ quotas }) => quotas.map(({ metadata }) => metadata.name ?? '')).toSorted(),
  );
  for (const name of names) {
    const mine = charges.flatMap(({ quotas, dryRun }, index) =>
      !dryRun && errors[index] === undefined && quotas.some(({ metadata }) => metadata.name === name)
        ? [index]
        : [],
    );
    if (mine.length > 0) await chargeOne((change) => write(namespace, name, change), charges, mine, errors);
  }
  return errors;
}
