/** All code that computes with 64-bit fields, run with the limits of 64-bit integers and of JavaScript
 *  numbers: dates can be written, waits are finite, orders and sums are exact. */
import { describe, expect, test } from 'vitest';
import { int64Of, LONGEST_MS, MAX_INT64, MIN_INT64 } from '#api/kit/int64.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { requestTimeoutMs } from '../http/request/request-info.ts';
import { isCounted } from '../quota/pods.ts';
import type { ApiObject, Resource, Strategy, StrategyContext } from '../resources/contract.ts';
import { planPodDeletion } from '../resources/core/pod.ts';
import { readEviction } from '../resources/core/pod-eviction.ts';
import { decideDeletion } from '../verbs/decide-deletion.ts';
import { cronFacts, decideCronJob } from './cron-job/decide.ts';
import { jobFacts, jobNames } from './job/model.ts';
import { leavesAtMs } from './node-lifecycle/eviction.ts';

const NOW = Date.parse('2026-06-01T12:00:00Z');
const SAFE = 2n ** 53n - 1n;
const EXTREMES = [SAFE, SAFE + 1n, SAFE + 2n, MAX_INT64 - 1n, MAX_INT64].flatMap((value) => [value, -value]);
const ALL = [...EXTREMES, MIN_INT64].map(int64Of);

const context: StrategyContext = {
  vocabulary: VOCABULARIES.plat,
  user: { name: 'ann', groups: [], extra: {} },
  namespace: 'default',
  nowMs: NOW,
  dryRun: false,
  gates: new Set(),
};
const graceful: Strategy = { planDeletion: planPodDeletion };
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- decisions read the strategy only
const pods = { strategy: graceful } as unknown as Resource;
const pod = (spec: object, metadata: object = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', uid: 'u', generation: 1, ...metadata },
  spec: { nodeName: 'n', containers: [], ...spec },
});

const isFiniteTime = (ms: number | undefined): boolean =>
  ms !== undefined && !Number.isNaN(new Date(ms).getTime());

describe.each(ALL)('%s', (value) => {
  test('seconds of grace', () => {
    const first = decideDeletion(
      pod({ terminationGracePeriodSeconds: value }),
      pods,
      { dryRun: false },
      context,
    );
    if (first.kind !== 'mark') throw new Error(`not marked, but ${first.kind}`);
    const { deletionGracePeriodSeconds, deletionTimestamp = '' } = first.object.metadata;
    expect(deletionGracePeriodSeconds).toBe(value < 0 ? 1 : value);
    expect(Date.parse(deletionTimestamp)).toBe(NOW + (value < 0 ? 1000 : LONGEST_MS - (LONGEST_MS % 1000)));
    const sooner = decideDeletion(
      first.object,
      pods,
      { dryRun: false, gracePeriodSeconds: value < 0 ? 0 : 30 },
      { ...context, nowMs: NOW + 5000 },
    );
    const left = sooner.kind === 'mark' ? sooner.object.metadata.deletionTimestamp : sooner.kind;
    // A time in whole seconds, like the times of objects.
    expect(left).toMatch(value < 0 ? /^remove$/ : /^2026-06-01T12:00:(?:29|30)Z$/);
    expect(readEviction({ ...pod({}), deleteOptions: { gracePeriodSeconds: value } }, 'a')).toMatchObject({
      gracePeriodSeconds: value,
    });
  });

  test('the grace of a pod that has not ended in time', () => {
    const metadata = { deletionTimestamp: '2026-06-01T11:00:00Z', deletionGracePeriodSeconds: value };
    expect(isCounted({ metadata }, NOW)).toBe(value > 0);
  });

  test('seconds of a toleration', () => {
    const taints = [{ key: 'k', effect: 'NoExecute', timeAdded: '2026-06-01T11:00:00Z' }] as const;
    const tolerations = [
      { key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: value },
    ] as const;
    const atMs = leavesAtMs(taints, tolerations, NOW);
    expect(isFiniteTime(atMs)).toBe(true);
    expect(Number(atMs) > NOW).toBe(value > 0);
  });

  test('deadlines of jobs', () => {
    const job = { spec: { template: {}, activeDeadlineSeconds: value } };
    expect(
      isFiniteTime(NOW + (jobFacts(job, jobNames(VOCABULARIES.plat)).activeDeadlineMs ?? Number.NaN)),
    ).toBe(true);
    const cron = cronFacts(
      {
        metadata: { name: 'c', creationTimestamp: '2026-06-01T11:30:00Z' },
        spec: { schedule: '*/10 * * * *', jobTemplate: {}, startingDeadlineSeconds: value },
      },
      false,
    );
    const plan = decideCronJob(cron, [], NOW);
    expect(plan.start?.timeMs).toBe(value < 0 ? undefined : NOW);
    expect(plan.recheckMs === undefined || plan.recheckMs <= 600_000).toBe(true);
  });

  test('the time of a request', () => {
    const query = new URLSearchParams({ timeoutSeconds: String(value) });
    expect(requestTimeoutMs(query, 60_000)).toBe(60_000);
  });
});
