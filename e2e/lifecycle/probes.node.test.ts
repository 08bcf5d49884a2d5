/** Startup, liveness and readiness probes through every handler. */
import { describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { holds, isRunning, pod, restarts, sh, startHarness, statusOf, useHarness, WAIT } from './support.ts';

/** On a busy machine a command in a container may exceed the default timeout of one second. */
const often = { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10 } as const;

describe.concurrent('probes', () => {
  const harness = useHarness(['--feature-gates=ProbeTerminationGracePeriod=true']);

  test('readiness makes the pod ready and unready without a restart', async () => {
    const readinessProbe = { exec: { command: ['test', '-e', '/tmp/ready'] }, ...often };
    await harness.agent.put('flip.json', pod('flip', { containers: [sh('c', WAIT, { readinessProbe })] }));
    const found = await harness.agent.waitFor('flip', isRunning('c'));
    expect(isReady(found)).toBe(false);
    expect(found.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'ContainersReady',
        status: 'False',
        reason: 'ContainersNotReady',
        message: 'containers with unready status: [c]',
      }),
    );
    await harness.exec(found, 'c', 'touch /tmp/ready');
    await harness.agent.waitFor('flip', isReady);
    await harness.exec(found, 'c', 'rm /tmp/ready');
    const after = await harness.agent.waitFor('flip', (p) => !isReady(p));
    expect(statusOf(after, 'c')).toMatchObject({ restartCount: 0, ready: false, started: true });
    await harness.event('flip', 'Unhealthy', /^Readiness probe failed/);
  });

  test('liveness restarts the container, with its own grace period, and reports why', async () => {
    const livenessProbe = {
      exec: { command: ['sh', '-c', 'echo sick; test ! -e /tmp/sick'] },
      ...often,
      terminationGracePeriodSeconds: 1,
    };
    const script = `trap '' TERM; touch /tmp/up; while :; do sleep 0.05; done`;
    await harness.agent.put(
      'live.json',
      pod('live', { terminationGracePeriodSeconds: 60, containers: [sh('c', script, { livenessProbe })] }),
    );
    const found = await harness.agent.waitFor('live', isRunning('c'));
    await harness.exec(found, 'c', 'until [ -e /tmp/up ]; do sleep 0.05; done; touch /tmp/sick');
    const after = await harness.agent.waitFor('live', restarts('c', 1));
    const ended = statusOf(after, 'c')?.lastState?.terminated;
    expect(ended?.exitCode).toBe(137);
    const killing = (await harness.agent.events('live')).find(({ reason }) => reason === 'Killing');
    const tookMs = Date.parse(ended?.finishedAt ?? '') - Date.parse(killing?.firstTimestamp ?? '');
    expect(tookMs).toBeLessThan(20_000);
    await harness.event('live', 'Unhealthy', /^Liveness probe failed: sick/);
    await harness.event('live', 'Killing', /^Container c failed its probe and will be restarted/);
    await harness.agent.drop('live.json');
    await eventually(() => harness.agent.call('DELETE', '/pods/default/live-n1?gracePeriodSeconds=0'));
  });

  test('startup holds back the others and restarts a container that never starts', async () => {
    const startupProbe = {
      exec: { command: ['test', '-e', '/tmp/up'] },
      ...often,
      failureThreshold: 60,
    };
    const livenessProbe = { exec: { command: ['test', '-e', '/tmp/up'] }, ...often };
    await harness.agent.put(
      'start.json',
      pod('start', {
        containers: [
          sh('slow', WAIT, { startupProbe, livenessProbe }),
          sh('never', WAIT, { startupProbe: { ...startupProbe, failureThreshold: 1 } }),
        ],
      }),
    );
    const early = await harness.agent.waitFor('start', isRunning('slow'));
    expect(statusOf(early, 'slow')).toMatchObject({ started: false, ready: false });
    await holds(async () => {
      const { started, restartCount } = statusOf((await harness.agent.pod('start')) ?? {}, 'slow') ?? {};
      return started === false && restartCount === 0;
    }, 2_000);
    await harness.exec(early, 'slow', 'touch /tmp/up');
    const after = await harness.agent.waitFor('start', (p) => statusOf(p, 'slow')?.started === true);
    expect(statusOf(after, 'slow')).toMatchObject({ started: true, ready: true, restartCount: 0 });
    await harness.agent.waitFor('start', (p) => (statusOf(p, 'never')?.restartCount ?? 0) >= 1);
    await harness.event('start', 'Unhealthy', /^Startup probe failed/);
  });

  test('HTTP and TCP probes reach the pod, by port number and name, with headers and path', async () => {
    // Responds with 200 only to requests with the header.
    const response = [
      'ok=404',
      'while read -r line; do line=${line%?}; [ -z "$line" ] && break',
      'case "$line" in [Xx]-[Aa]sk:\\ me) ok=200 ;; esac; done',
      'printf "HTTP/1.1 $ok x\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"',
    ].join('; ');
    const serve = `printf '%s\\n' '#!/bin/sh' "$RESPONSE" > /tmp/a; chmod +x /tmp/a; exec nc -ll -p 8080 -e /tmp/a`;
    const http = { path: '/ok', port: 'web', httpHeaders: [{ name: 'X-Ask', value: 'me' }] };
    await harness.agent.put(
      'net.json',
      pod('net', {
        hostNetwork: false,
        containers: [
          sh('http', serve, {
            env: [{ name: 'RESPONSE', value: response }],
            ports: [{ name: 'web', containerPort: 8080 }],
            readinessProbe: { httpGet: http, ...often },
            livenessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, initialDelaySeconds: 1 },
          }),
          sh('missing', WAIT, { readinessProbe: { httpGet: { path: '/nothing', port: 8080 }, ...often } }),
          sh('closed', WAIT, { readinessProbe: { tcpSocket: { port: 9 }, ...often } }),
        ],
      }),
    );
    const found = await harness.agent.waitFor('net', (p) => statusOf(p, 'http')?.ready === true);
    await harness.event(
      'net',
      'Unhealthy',
      /^Readiness probe failed: HTTP probe failed with statuscode: 404/,
    );
    await harness.event('net', 'Unhealthy', /^Readiness probe failed: .*(?:refused|9)/);
    expect(statusOf(found, 'missing')?.ready).toBe(false);
    expect(statusOf(found, 'closed')?.ready).toBe(false);
    expect(isReady(found)).toBe(false);
  });

  test('a gRPC probe without a response fails', async () => {
    const readinessProbe = { grpc: { port: 9 }, ...often };
    await harness.agent.put(
      'grpc.json',
      pod('grpc', { hostNetwork: false, containers: [sh('c', WAIT, { readinessProbe })] }),
    );
    expect(await harness.event('grpc', 'Unhealthy')).toMatch(/^Readiness probe failed: /);
  });

  test('an exec probe that takes too long fails', async () => {
    const readinessProbe = { exec: { command: ['sleep', '30'] }, ...often, timeoutSeconds: 1 };
    await harness.agent.put('slow.json', pod('slow', { containers: [sh('c', WAIT, { readinessProbe })] }));
    expect(await harness.event('slow', 'Unhealthy')).toMatch(/^Readiness probe failed: .*timed out/);
  });

  test('readiness survives a restart of the agent without a gap', { timeout: 120_000 }, async () => {
    await using own = await startHarness();
    const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 10 };
    await own.agent.put('kept.json', pod('kept', { containers: [sh('c', WAIT, { readinessProbe })] }));
    const { metadata } = await own.agent.waitFor('kept', isReady);
    // The result of the probe has been persisted.
    await own.fileText(`${own.agent.root}/pods/${metadata?.uid}/probes.json`, /"ready":true/);
    await own.agent.stop('SIGKILL');
    await own.agent.start();
    // From the start: the first observed state is the persisted one.
    const seen = await own.agent.waitFor('kept', ({ status }) => status?.conditions !== undefined);
    expect(isReady(seen)).toBe(true);
    await holds(async () => isReady((await own.agent.pod('kept')) ?? {}), 300);
  });
});
