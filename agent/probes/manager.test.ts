import { describe, expect, test } from 'vitest';
import type { Container, Probe } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { createProbeManager, type ProbeManagerOptions } from './manager.ts';
import type { ProbeOutcome } from './probe-state.ts';
import type { ProbeRequest, ProbeResult } from './probe-types.ts';
import type { PodTargets } from './targets.ts';

const POD = { metadata: { namespace: 'shop', name: 'web', uid: 'u1' } };
const probe = (change: Partial<Probe> = {}): Probe => ({
  periodSeconds: 10,
  failureThreshold: 2,
  tcpSocket: { port: 80 },
  ...change,
});

interface Probed {
  readonly atMs: number;
  readonly request: ProbeRequest;
  readonly signal: AbortSignal;
}

/** A manager whose probes return the given result; the port identifies the kind of probe. */
function setUp(
  respond: (request: ProbeRequest, signal: AbortSignal) => Promise<ProbeResult> | ProbeOutcome,
  options: Partial<ProbeManagerOptions> = {},
) {
  const clock = createFakeClock();
  const probed: Probed[] = [];
  const events: string[] = [];
  const changes: string[] = [];
  const manager = createProbeManager(
    {
      clock,
      run: async (request, signal) => {
        probed.push({ atMs: clock.monotonic(), request, signal });
        const result = respond(request, signal);
        return typeof result === 'string' ? { outcome: result, output: 'out' } : result;
      },
      onChange: (podUID) => changes.push(podUID),
      event: (_pod, _type, reason, message, container) =>
        events.push(`${container.name} ${reason}: ${message}`),
      random: () => 0.5,
    },
    { probeGracePeriod: true, ...options },
  );
  const start = (container: Partial<Container>, containerId = 'c1', startedAtMs = clock.now()): void =>
    manager.sync('u1', targets(container, containerId, startedAtMs));
  return { clock, probed, events, changes, manager, start, times: () => probed.map(({ atMs }) => atMs) };
}

const targets = (container: Partial<Container>, containerId: string, startedAtMs: number): PodTargets => ({
  pod: POD,
  podIP: '10.1.0.7',
  containers: [{ containerId, container: { name: 'app', ...container }, startedAtMs }],
});

const never = (): Promise<ProbeResult> => new Promise(() => undefined);

describe('createProbeManager', () => {
  test('probes immediately and then every period', async () => {
    const { clock, start, times } = setUp(() => 'success');
    start({ readinessProbe: probe() });
    await clock.advance(30_000);
    expect(times()).toEqual([0, 10_000, 20_000, 30_000]);
  });

  test('waits for the initial delay', async () => {
    const { clock, start, times } = setUp(() => 'success');
    start({ livenessProbe: probe({ initialDelaySeconds: 5 }) });
    await clock.advance(16_000);
    expect(times()).toEqual([5000, 15_000]);
  });

  test('does not drift when probes take time', async () => {
    const { clock, start, times } = setUp(
      () =>
        new Promise((resolve) => {
          clock.setTimer(() => resolve({ outcome: 'success', output: '' }), 700);
        }),
    );
    start({ readinessProbe: probe() });
    await clock.advance(25_000);
    expect(times()).toEqual([0, 10_000, 20_000]);
  });

  test('is ready after the first success, and notifies', async () => {
    const { clock, start, manager, changes } = setUp(() => 'success');
    start({ readinessProbe: probe() });
    expect(manager.verdict('c1')).toEqual({ started: true, ready: false });
    expect(changes).toEqual([]);
    await clock.advance(0);
    expect(manager.verdict('c1')).toEqual({ started: true, ready: true });
    await clock.advance(50_000);
    expect(changes).toEqual(['u1']);
  });

  test('is not ready after enough failures, and ready again', async () => {
    let outcome: ProbeOutcome = 'success';
    const { clock, start, manager, changes, events } = setUp(() => outcome);
    start({ readinessProbe: probe() });
    await clock.advance(5000);
    outcome = 'failure';
    await clock.advance(10_000);
    expect(manager.verdict('c1')).toMatchObject({ ready: true });
    await clock.advance(10_000);
    expect(manager.verdict('c1')).toEqual({ started: true, ready: false });
    outcome = 'success';
    await clock.advance(10_000);
    expect(manager.verdict('c1')).toMatchObject({ ready: true });
    expect(changes).toHaveLength(3);
    expect(events).toEqual(Array(2).fill('app Unhealthy: Readiness probe failed: out'));
  });

  test('fails a container that is not alive, with the grace period of the probe', async () => {
    const { clock, start, manager, changes, times } = setUp(() => 'failure');
    start({ livenessProbe: probe({ terminationGracePeriodSeconds: 3 }) });
    await clock.advance(60_000);
    expect(manager.verdict('c1')).toEqual({
      started: true,
      ready: true,
      failure: { message: 'Liveness probe failed: out', gracePeriodSeconds: 3 },
    });
    expect(times()).toEqual([0, 10_000]);
    expect(changes).toEqual(['u1']);
  });

  test('uses the grace period of the pod while the feature gate is off', async () => {
    const { clock, start, manager } = setUp(() => 'failure', { probeGracePeriod: false });
    start({ livenessProbe: probe({ terminationGracePeriodSeconds: 3 }) });
    await clock.advance(60_000);
    expect(manager.verdict('c1')?.failure).toEqual({ message: 'Liveness probe failed: out' });
  });

  test('delays the other probes until the container has started', async () => {
    let startup: ProbeOutcome = 'failure';
    const { clock, start, manager, probed } = setUp(({ probe: { tcpSocket } }) =>
      tcpSocket?.port === 1 ? startup : 'success',
    );
    start({
      startupProbe: probe({ tcpSocket: { port: 1 }, failureThreshold: 30 }),
      livenessProbe: probe(),
      readinessProbe: probe(),
    });
    await clock.advance(25_000);
    const ports = () => probed.map(({ request }) => request.probe.tcpSocket?.port);
    expect(ports()).toEqual([1, 1, 1]);
    expect(manager.verdict('c1')).toEqual({ started: false, ready: false });
    startup = 'success';
    await clock.advance(5000);
    expect(ports()).toEqual([1, 1, 1, 1, 80, 80]);
    expect(manager.verdict('c1')).toEqual({ started: true, ready: true });
    await clock.advance(10_000);
    expect(ports().filter((port) => port === 1)).toHaveLength(4);
  });

  test('fails a container that does not start', async () => {
    const { clock, start, manager } = setUp(() => 'failure');
    start({ startupProbe: probe(), livenessProbe: probe() });
    await clock.advance(10_000);
    expect(manager.verdict('c1')).toMatchObject({
      started: false,
      failure: { message: 'Startup probe failed: out' },
    });
  });

  test('a probe without a response fails after its timeout', async () => {
    const { clock, start, events, probed } = setUp(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    );
    start({ livenessProbe: probe({ timeoutSeconds: 2 }) });
    await clock.advance(1999);
    expect(events).toEqual([]);
    await clock.advance(1);
    expect(events).toEqual(['app Unhealthy: Liveness probe failed: timed out after 2s']);
    expect(probed[0]?.signal.aborted).toBe(true);
  });

  test('an error of the prober changes nothing, and emits an event', async () => {
    const { clock, start, manager, events, changes } = setUp(() => Promise.reject(new Error('no runtime')));
    start({ livenessProbe: probe() });
    await clock.advance(100_000);
    expect(manager.verdict('c1')).toEqual({ started: true, ready: true });
    expect(events[0]).toBe('app Unhealthy: Liveness probe errored: no runtime');
    expect(changes).toEqual([]);
  });

  test('emits an event for a warning', async () => {
    const { clock, start, events } = setUp(() => 'warning');
    start({ readinessProbe: probe() });
    await clock.advance(0);
    expect(events).toEqual(['app ProbeWarning: Readiness probe warning: out']);
  });

  test('starts over with a new instance of the container', async () => {
    const { clock, start, manager } = setUp(() => 'success');
    start({ readinessProbe: probe({ initialDelaySeconds: 1 }) });
    await clock.advance(1000);
    start({ readinessProbe: probe({ initialDelaySeconds: 1 }) }, 'c2');
    expect(manager.verdict('c1')).toBeUndefined();
    expect(manager.verdict('c2')).toEqual({ started: true, ready: false });
    await clock.advance(1000);
    expect(manager.verdict('c2')).toMatchObject({ ready: true });
  });

  test('the same containers again change nothing', async () => {
    const { clock, start, times } = setUp(() => 'success');
    const startedAtMs = clock.now();
    for (let step = 0; step < 5; step += 1) {
      start({ readinessProbe: probe() }, 'c1', startedAtMs);
      await clock.advance(3000);
    }
    expect(times()).toEqual([0, 10_000]);
  });

  test('stops probing with the pod, including a probe in flight', async () => {
    const { clock, start, manager, probed, changes, events } = setUp(never);
    start({ readinessProbe: probe() });
    await clock.advance(100);
    manager.sync('u1', undefined);
    expect(probed[0]?.signal.aborted).toBe(true);
    expect(manager.verdict('c1')).toBeUndefined();
    await clock.advance(60_000);
    expect(probed).toHaveLength(1);
    expect([...changes, ...events]).toEqual([]);
  });

  test('stops all probes', async () => {
    const { clock, start, manager, probed } = setUp(() => 'success');
    start({ readinessProbe: probe() });
    await clock.advance(0);
    manager.stop();
    await clock.advance(60_000);
    expect(probed).toHaveLength(1);
  });

  test('spreads the first probes of containers older than the agent', async () => {
    const { clock, start, times } = setUp(() => 'success');
    start({ readinessProbe: probe() }, 'c1', clock.now() - 60_000);
    await clock.advance(15_000);
    expect(times()).toEqual([5000, 15_000]);
  });

  test('uses the current pod address', async () => {
    const { clock, start, manager, probed } = setUp(() => 'success');
    start({ readinessProbe: probe() });
    await clock.advance(0);
    manager.sync('u1', { ...targets({ readinessProbe: probe() }, 'c1', clock.now()), podIP: '10.1.0.9' });
    await clock.advance(10_000);
    expect(probed.map(({ request }) => request.podIP)).toEqual(['10.1.0.7', '10.1.0.9']);
  });

  test('ignores containers without probes', async () => {
    const { clock, start, manager, probed } = setUp(() => 'success');
    start({});
    await clock.advance(60_000);
    expect(manager.verdict('c1')).toBeUndefined();
    expect(probed).toEqual([]);
  });
});
