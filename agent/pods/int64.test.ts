/** 64-bit durations in the agent, at the limits of their ranges and of the integers that a JavaScript number holds. */
import { describe, expect, test } from 'vitest';
import { int64Of, LONGEST_MS, MAX_INT64, MIN_INT64 } from '#api/kit/int64.ts';
import { stopTimeout } from '../runtime/stop-timeout.ts';
import { shutdownGroups } from '../shutdown/decide.ts';
import { decidePod } from './decide/decide.ts';
import { container, decideInput, NOW_MS, observation, progress, sandbox, testPod } from './pod.fixture.ts';
import { parseRecord } from './record/record.ts';

const SAFE = 2n ** 53n - 1n;
const ALL = [SAFE, SAFE + 1n, SAFE + 2n, MAX_INT64, -SAFE - 2n, MIN_INT64].map(int64Of);

describe.each(ALL)('%s seconds', (seconds) => {
  test('of grace are what an action has, and a runtime gets what it can count', () => {
    const running = observation([sandbox()], container('a'));
    const pod = testPod({ terminationGracePeriodSeconds: seconds });
    const graces = [
      decideInput({ observed: running, intent: { kind: 'remove', gracePeriodSeconds: seconds } }),
      decideInput({
        pod,
        observed: running,
        progress: progress({ terminal: { phase: 'Failed', reason: 'Evicted', message: '' } }),
      }),
    ].map((input) => {
      const [action] = decidePod(input).actions;
      return action?.kind === 'killContainer' ? action.gracePeriodSeconds : action?.kind;
    });
    expect(graces).toEqual([seconds, seconds]);
    expect(stopTimeout(seconds)).toBe(seconds < 0 ? 0n : 2n ** 31n - 1n);
  });

  test('of a deadline are a time to wake at, or one that has come', () => {
    const { wakeAtMs, actions } = decidePod(
      decideInput({ pod: testPod({ activeDeadlineSeconds: seconds }) }),
    );
    expect(wakeAtMs).toBe(seconds < 0 ? undefined : NOW_MS - 60_000 + LONGEST_MS);
    expect(actions.some(({ kind }) => kind === 'finish')).toBe(seconds < 0);
  });

  test('are in the record of a pod as they were', () => {
    const pod = testPod({
      terminationGracePeriodSeconds: seconds,
      tolerations: [{ key: 'a', operator: 'Exists', tolerationSeconds: seconds }],
    });
    const record = {
      version: 1,
      pod: { ...pod, metadata: { ...pod.metadata, name: 'a', namespace: 'b' } },
      origin: { source: 'api', location: 'l', document: 'd' },
      startedAtMs: 1,
      terminal: { phase: 'Failed', reason: 'r', message: 'm', gracePeriodSeconds: seconds },
    };
    const read = parseRecord(JSON.stringify(record));
    expect(read.terminal?.gracePeriodSeconds).toBe(seconds);
    expect(read.pod.spec?.terminationGracePeriodSeconds).toBe(seconds);
    expect(read.pod.spec?.tolerations?.[0]?.tolerationSeconds).toBe(seconds);
  });

  test('of grace are cut to what a shutdown waits', () => {
    const pod = testPod({ terminationGracePeriodSeconds: seconds });
    const groups = shutdownGroups([pod], [{ priority: 0, seconds: 20 }], () => 0);
    expect(groups[0]?.pods[0]?.graceSeconds).toBe(seconds < 0 ? Number(seconds) : 20);
  });
});
