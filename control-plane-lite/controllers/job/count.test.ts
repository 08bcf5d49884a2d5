import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countPods } from './count.ts';
import { formatIndexes, parseIndexes } from './indexes.ts';
import { jobOf, jobPodOf } from './job.fixture.ts';
import type { JobFacts, JobPod } from './model.ts';

describe('indexes', () => {
  test.each([
    [[], ''],
    [[3], '3'],
    [[0, 1], '0,1'],
    [[0, 1, 2, 5, 7, 8], '0-2,5,7,8'],
  ])('%j is %j', (indexes, text) => {
    expect(formatIndexes(new Set(indexes))).toBe(text);
  });

  test('parsing inverts formatting', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(200)), (indexes) => {
        const text = formatIndexes(new Set(indexes));
        expect(parseIndexes(text, 201)).toEqual(new Set(indexes));
      }),
    );
  });

  test('indexes beyond completions and unparsable parts are ignored', () => {
    expect([...parseIndexes('1,x,3-900000000', 5)]).toEqual([1, 3, 4]);
  });
});

/** Events of one pod: it finishes, or is deleted; or the controller is interrupted at some point. */
type Step =
  | { readonly kind: 'end' | 'delete'; readonly pod: number }
  | { readonly kind: 'count'; readonly until: number };

test('with tracking every pod is counted once, at any interruption of the controller', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom('end' as const, 'delete' as const), pod: fc.nat(5) }),
    fc.record({ kind: fc.constant('count' as const), until: fc.nat(4) }),
  );
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
      fc.array(step, { maxLength: 60 }),
      (good, steps) => {
        let job: JobFacts = jobOf({ tracked: true, status: {} });
        const pods = new Map<number, JobPod>(
          good.map((_, index) => [index, jobPodOf(`p${index}`, { held: true, ready: false })]),
        );
        const act = (each: Step): void => {
          if (each.kind === 'count') {
            const { status, release } = countPods(job, [...pods.values()]);
            if (each.until === 0) return;
            job = { ...job, status };
            for (const { uid } of release.slice(0, each.until - 1)) {
              const [index, pod] = [...pods].find(([, { uid: own }]) => own === uid) ?? [];
              if (index === undefined || pod === undefined) continue;
              if (pod.deleting) pods.delete(index);
              else pods.set(index, { ...pod, held: false });
            }
            return;
          }
          const pod = pods.get(each.pod);
          if (pod === undefined) return;
          if (each.kind === 'end' && !pod.deleting) {
            pods.set(each.pod, { ...pod, phase: good[each.pod] === true ? 'Succeeded' : 'Failed' });
          } else if (each.kind === 'delete' && pod.phase !== 'Running') {
            if (pod.held) pods.set(each.pod, { ...pod, deleting: true });
            else pods.delete(each.pod);
          }
        };
        steps.forEach(act);
        for (const index of good.keys()) act({ kind: 'end', pod: index });
        for (let round = 0; round < 10; round += 1) act({ kind: 'count', until: 10 });
        const { succeeded, failed, settled } = countPods(job, [...pods.values()]);
        expect({ succeeded, failed, settled }).toEqual({
          succeeded: good.filter((each) => each).length,
          failed: good.filter((each) => !each).length,
          settled: true,
        });
      },
    ),
  );
});

test('without tracking the existing pods are counted', () => {
  const pods = [
    jobPodOf('a', { phase: 'Succeeded' }),
    jobPodOf('b', { phase: 'Failed' }),
    jobPodOf('c', { deleting: true }),
  ];
  expect(countPods(jobOf(), pods)).toMatchObject({ succeeded: 1, failed: 1, settled: true, release: [] });
});
