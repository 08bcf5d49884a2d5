import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ResourceQuota } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { readAmounts } from '../../quota/amounts.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Charge, chargeAll, type QuotaWriter } from './charge.ts';

type Texts = Record<string, string>;

const quota = (name: string, hard: Texts, used: Texts, revision = 1): ApiObject => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name, resourceVersion: String(revision) },
  status: { hard, used },
});

/** Store of quotas. `lost`: number of conflicts, each after another client has used `theirs`. */
function createStore(quotas: readonly ApiObject[], lost = 0, theirs: Texts = {}) {
  const byName = new Map(quotas.map((each) => [each.metadata.name ?? '', each]));
  const writes: string[] = [];
  let left = lost;
  const write: QuotaWriter = async (_, name, change) => {
    const live = byName.get(name);
    if (live === undefined) throw new StatusError('NotFound', name);
    await Promise.resolve();
    if (left > 0) {
      left -= 1;
      change(structuredClone(live));
      const status = typed<ResourceQuota>(live).status ?? {};
      Object.assign(status, { used: { ...status.used, ...theirs } });
    }
    writes.push(name);
    byName.set(name, change(structuredClone(live)));
  };
  const used = (name: string): Texts => ({
    ...typed<ResourceQuota>(byName.get(name) ?? quota(name, {}, {})).status?.used,
  });
  return { write, writes, used };
}

const charge = (quotas: readonly ApiObject[], delta: Texts, dryRun = false): Charge => ({
  quotas,
  delta: readAmounts(delta),
  dryRun,
  refuse: (why) => new StatusError('Forbidden', why),
});

const messages = (errors: readonly (Error | undefined)[]): readonly (string | undefined)[] =>
  errors.map((error) => error?.message);

describe('chargeAll', () => {
  test('counts many in one write, and refuses those for whom nothing is left', async () => {
    const one = quota('a', { pods: '2' }, { pods: '0' });
    const { write, writes, used } = createStore([one]);
    const errors = await chargeAll(
      write,
      'ns',
      Array.from({ length: 3 }, () => charge([one], { pods: '1' })),
    );
    expect(messages(errors)).toEqual([
      undefined,
      undefined,
      'exceeded quota: a, requested: pods=1, used: pods=2, limited: pods=2',
    ]);
    expect([writes, used('a')]).toEqual([['a'], { pods: '2' }]);
  });

  test('counts again after a conflicting write', async () => {
    const one = quota('a', { pods: '2' }, { pods: '0' });
    const { write, used } = createStore([one], 1, { pods: '1' });
    const errors = await chargeAll(
      write,
      'ns',
      Array.from({ length: 2 }, () => charge([one], { pods: '1' })),
    );
    expect(messages(errors)).toEqual([
      undefined,
      'exceeded quota: a, requested: pods=1, used: pods=2, limited: pods=2',
    ]);
    expect(used('a')).toEqual({ pods: '2' });
  });

  test('charges no quota if another one is exceeded, and none for a dry run', async () => {
    const quotas = [quota('a', { pods: '9' }, { pods: '0' }), quota('b', { cpu: '1' }, { cpu: '1' })];
    const { write, writes } = createStore(quotas);
    const errors = await chargeAll(write, 'ns', [
      charge(quotas, { pods: '1', cpu: '1' }),
      charge(quotas.slice(0, 1), { pods: '9' }, true),
      charge(quotas.slice(0, 1), { pods: '10' }, true),
    ]);
    expect(errors.map((error) => error === undefined)).toEqual([false, true, false]);
    expect(writes).toEqual([]);
  });

  test('waits for the first count, ignores a deleted quota, and passes on errors', async () => {
    const [uncounted, gone] = [quota('new', { pods: '1' }, {}), quota('gone', { pods: '1' }, { pods: '0' })];
    const { write } = createStore([uncounted]);
    expect(messages(await chargeAll(write, 'ns', [charge([uncounted], { pods: '1' })]))).toEqual([
      'status unknown for quota: new, resources: pods',
    ]);
    expect(messages(await chargeAll(write, 'ns', [charge([gone], { pods: '1' })]))).toEqual([undefined]);
    const failing: QuotaWriter = () => Promise.reject(new Error('disk'));
    expect(messages(await chargeAll(failing, 'ns', [charge([gone], { pods: '1' })]))).toEqual(['disk']);
  });

  test('never charges more than the quota, for any requests and quotas', async () => {
    const amounts = fc.record({ pods: fc.nat(3), cpu: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ hard: amounts, used: amounts }), { minLength: 1, maxLength: 3 }),
        fc.array(fc.record({ delta: amounts, mask: fc.nat(7) }), { maxLength: 12 }),
        fc.nat(2),
        async (sizes, requests, lost) => {
          const texts = ({ pods, cpu }: { pods: number; cpu: number }): Texts => ({
            pods: String(pods),
            cpu: String(cpu),
          });
          const quotas = sizes.map(({ hard, used }, index) => quota(`q${index}`, texts(hard), texts(used)));
          const store = createStore(quotas, lost);
          const charges = requests.map(({ delta, mask }) =>
            charge(
              quotas.filter((_, index) => (mask & (1 << index)) !== 0),
              texts(delta),
            ),
          );
          const errors = await chargeAll(store.write, 'ns', charges);
          sizes.forEach(({ hard, used }, index) => {
            for (const name of ['pods', 'cpu'] as const) {
              const granted = requests
                .filter(({ mask }, each) => errors[each] === undefined && (mask & (1 << index)) !== 0)
                .reduce((sum, { delta }) => sum + delta[name], 0);
              const after = Number(store.used(`q${index}`)[name]);
              // All that was granted is counted, and nothing beyond the limit.
              expect(after).toBeGreaterThanOrEqual(used[name] + granted);
              expect(after).toBeLessThanOrEqual(Math.max(hard[name], used[name]));
            }
          });
        },
      ),
    );
  });
});
