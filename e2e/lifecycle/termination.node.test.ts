/** Termination of pods: stop signal, grace period, SIGKILL, and hooks. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { isRunning, pod, restarts, sh, statusOf, useHarness, WAIT } from './support.ts';

describe.concurrent('termination', () => {
  const harness = useHarness();

  const shared = { name: 'h', mountPath: '/h' };
  const volumes = () => [{ name: 'h', hostPath: { path: harness.agent.folder, type: 'Directory' as const } }];
  const said = (file: string) => readFile(`${harness.agent.folder}/${file}`, 'utf8');
  const gone = (name: string, timeoutMs: number) =>
    eventually(async () => (await harness.agent.pod(name)) === undefined, {
      timeoutMs,
      what: `${name} is gone`,
    });

  async function dropAndTime(name: string, timeoutMs: number): Promise<number> {
    const startMs = performance.now();
    await harness.agent.drop(`${name}.json`);
    await gone(name, timeoutMs);
    return performance.now() - startMs;
  }

  test('a container may use its grace period to end well', async () => {
    const script = `trap 'sleep 1; echo bye > /h/well; exit 0' TERM; touch /h/well-up; while :; do sleep 0.05; done`;
    await harness.agent.put(
      'well.json',
      pod('well', {
        terminationGracePeriodSeconds: 20,
        volumes: volumes(),
        containers: [sh('c', script, { volumeMounts: [shared] })],
      }),
    );
    await harness.agent.waitFor('well', isReady);
    await harness.fileText(`${harness.agent.folder}/well-up`, /^/);
    const tookMs = await dropAndTime('well', 30_000);
    expect(tookMs).toBeGreaterThanOrEqual(900);
    expect(await said('well')).toBe('bye\n');
    await harness.event('well', 'Killing', /^Stopping container c$/);
  });

  test('one that ignores the signal is killed when the grace period is over', async () => {
    const script = `trap '' TERM; while :; do date +%s > /h/stubborn; sleep 0.1; done`;
    await harness.agent.put(
      'stubborn.json',
      pod('stubborn', {
        terminationGracePeriodSeconds: 2,
        volumes: volumes(),
        containers: [sh('c', script, { volumeMounts: [shared] })],
      }),
    );
    await harness.agent.waitFor('stubborn', isReady);
    await harness.fileText(`${harness.agent.folder}/stubborn`, /\d/);
    const tookMs = await dropAndTime('stubborn', 25_000);
    expect(tookMs).toBeGreaterThanOrEqual(1_900);
  });

  test('preStop runs before the signal, inside the grace period', async () => {
    const script = `trap 'echo term >> /h/hooked; exit 0' TERM; touch /h/hooked-up; while :; do sleep 0.05; done`;
    const preStop = {
      exec: { command: ['sh', '-c', 'echo begin >> /h/hooked; sleep 0.5; echo end >> /h/hooked'] },
    };
    await harness.agent.put(
      'hooked.json',
      pod('hooked', {
        terminationGracePeriodSeconds: 20,
        volumes: volumes(),
        containers: [sh('c', script, { volumeMounts: [shared], lifecycle: { preStop } })],
      }),
    );
    await harness.agent.waitFor('hooked', isReady);
    await harness.fileText(`${harness.agent.folder}/hooked-up`, /^/);
    await harness.agent.drop('hooked.json');
    await gone('hooked', 30_000);
    expect(await said('hooked')).toBe('begin\nend\nterm\n');
  });

  test('a preStop hook that hangs uses the grace period, and the container gets 2 s more', async () => {
    const script = `trap 'echo term > /h/hung; exit 0' TERM; touch /h/hung-up; while :; do sleep 0.05; done`;
    await harness.agent.put(
      'hung.json',
      pod('hung', {
        terminationGracePeriodSeconds: 1,
        volumes: volumes(),
        containers: [
          sh('c', script, {
            volumeMounts: [shared],
            lifecycle: { preStop: { exec: { command: ['sleep', '100'] } } },
          }),
        ],
      }),
    );
    await harness.agent.waitFor('hung', isReady);
    await harness.fileText(`${harness.agent.folder}/hung-up`, /^/);
    await harness.agent.drop('hung.json');
    await gone('hung', 30_000);
    expect(await said('hung')).toBe('term\n');
    await harness.event('hung', 'FailedPreStopHook', /did not end within the grace period of 1s/);
  });

  test('a postStart hook that hangs does not hold up the end of its pod', async () => {
    const postStart = { exec: { command: ['sh', '-c', 'touch /h/stuck; sleep 100'] } };
    await harness.agent.put(
      'stuck.json',
      pod('stuck', {
        volumes: volumes(),
        containers: [sh('c', WAIT, { volumeMounts: [shared], lifecycle: { postStart } })],
      }),
    );
    await harness.fileText(`${harness.agent.folder}/stuck`, /^/);
    await harness.agent.drop('stuck.json');
    expect(await gone('stuck', 25_000)).toBe(true);
  });

  test('a second, shorter deletion shortens the grace period', async () => {
    const script = `trap 'echo term > /h/short; sleep 100' TERM; touch /h/short-up; while :; do sleep 0.05; done`;
    await harness.agent.call(
      'POST',
      '/apply',
      pod('short', {
        terminationGracePeriodSeconds: 100,
        volumes: volumes(),
        containers: [sh('c', script, { volumeMounts: [shared] })],
      }),
    );
    await harness.agent.waitFor('short', isReady);
    await harness.fileText(`${harness.agent.folder}/short-up`, /^/);
    await harness.agent.call('DELETE', '/pods/default/short');
    await harness.fileText(`${harness.agent.folder}/short`, /term/);
    const ending = await harness.agent.pod('short');
    expect(ending?.metadata?.deletionTimestamp).toBeDefined();
    await harness.agent.call('DELETE', '/pods/default/short?gracePeriodSeconds=0');
    expect(await gone('short', 25_000)).toBe(true);
  });

  test('a first deletion may be shorter than the grace period of the pod', async () => {
    const script = `trap '' TERM; while :; do sleep 0.05; done`;
    await harness.agent.call(
      'POST',
      '/apply',
      pod('first', { terminationGracePeriodSeconds: 100, containers: [sh('c', script)] }),
    );
    await harness.agent.waitFor('first', isReady);
    await harness.agent.call('DELETE', '/pods/default/first?gracePeriodSeconds=1');
    expect(await gone('first', 25_000)).toBe(true);
  });

  test('postStart runs beside the container, and one that fails gets it restarted', async () => {
    const exec = (script: string) => ({ postStart: { exec: { command: ['sh', '-c', script] } } });
    await harness.agent.put(
      'poststart.json',
      pod('poststart', {
        containers: [sh('c', 'sleep 1000', { lifecycle: exec('touch /tmp/hooked') })],
      }),
    );
    await harness.agent.put(
      'badstart.json',
      pod('badstart', { containers: [sh('c', 'sleep 1000', { lifecycle: exec('echo oops >&2; exit 3') })] }),
    );
    const found = await harness.agent.waitFor('poststart', isRunning('c'));
    await eventually(() => harness.exec(found, 'c', 'test -e /tmp/hooked && echo yes'));
    await harness.event('badstart', 'FailedPostStartHook', /oops|exit|3/);
    const bad = await harness.agent.waitFor('badstart', (p) => (statusOf(p, 'c')?.restartCount ?? 0) >= 1);
    expect(restarts('c', 0)(found)).toBe(true);
    expect(statusOf(bad, 'c')?.lastState?.terminated?.exitCode).toBe(137);
  });
});
