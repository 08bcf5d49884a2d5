/** The connection against the fake runtime: deadlines, cancellation, versions, reconnects. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { CriError, isNotFound, isUnimplemented } from '../errors.ts';
import { type FakeCri, type FakeCriOptions, startFakeCri } from '../fake/fake-cri.ts';
import { type CriConnection, connectRuntime, defaultTimeoutMs } from './connection.ts';
import { EndpointError } from './endpoint.ts';

let dir: TempDir;
const disposables: (() => unknown)[] = [];

beforeEach(async () => {
  dir = await createTempDir();
});

afterEach(async () => {
  for (const dispose of disposables.splice(0).reverse()) await dispose();
  await dir[Symbol.asyncDispose]();
});

async function startFake(options: Partial<FakeCriOptions> = {}): Promise<FakeCri> {
  const fake = await startFakeCri({ socketPath: `${dir.path}/f.sock`, ...options });
  disposables.push(() => fake.close());
  return fake;
}

function connect(endpoint = `unix://${dir.path}/f.sock`, requestTimeoutMs?: number): CriConnection {
  const options = requestTimeoutMs === undefined ? {} : { requestTimeoutMs };
  const cri = connectRuntime({ endpoint, log: silentLogger, ...options });
  disposables.push(() => cri.close());
  return cri;
}

const failureOf = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

async function untilAway(cri: CriConnection): Promise<void> {
  if (cri.state() === 'away') return;
  await new Promise<void>((resolve) => {
    cri.onStateChange((state) => state === 'away' && resolve());
  });
}

describe('connectRuntime', () => {
  test.each(['tcp://127.0.0.1:1', 'relative.sock', `/tmp/${'x'.repeat(120)}`, 'unix://', '/tmp/a\0b'])(
    'rejects %j as an endpoint',
    (endpoint) => {
      expect(() => connectRuntime({ endpoint, log: silentLogger })).toThrow(EndpointError);
    },
  );

  test('accepts a plain path', async () => {
    await startFake();
    const cri = connect(`${dir.path}/f.sock`);
    await cri.whenConnected();
    expect(cri.state()).toBe('connected');
  });

  test('reports a rejected call with method, reason and cause', async () => {
    const fake = await startFake();
    const cri = connect();
    const failure = await failureOf(cri.runtime.containerStatus({ containerId: 'none' }));
    expect(failure).toBeInstanceOf(CriError);
    expect(failure).toMatchObject({
      reason: 'NotFound',
      method: 'ContainerStatus',
      details: 'container "none" not found',
      message: 'ContainerStatus: container "none" not found',
      retryable: false,
      cause: { code: 5 },
    });
    expect(isNotFound(failure)).toBe(true);
    expect(fake.faults.calls()).toMatchObject([
      { method: 'ContainerStatus', request: { containerId: 'none' } },
    ]);
  });

  test.each([
    ['Unavailable', true],
    ['DeadlineExceeded', true],
    ['ResourceExhausted', true],
    ['Aborted', true],
    ['Unknown', false],
    ['InvalidArgument', false],
    ['FailedPrecondition', false],
  ] as const)('a call that fails with %s is retryable: %s', async (reason, retryable) => {
    const fake = await startFake();
    fake.faults.failNext('Version', reason, 'because');
    const failure = await failureOf(connect().runtime.version({}));
    expect(failure).toMatchObject({ reason, retryable, details: 'because' });
  });

  test('names the field of a request that is not of its type', async () => {
    await startFake();
    const call = connect().runtime.stopContainer({ containerId: 'x', timeout: 2n ** 63n });
    await expect(call).rejects.toThrow('timeout: expected int64, got bigint 9223372036854775808');
  });
});

describe('deadlines and cancellation', () => {
  test('a call ends at its deadline', async () => {
    const fake = await startFake();
    disposables.push(fake.faults.hangNext('Version'));
    const failure = await failureOf(connect().runtime.version({}, { timeoutMs: 50 }));
    expect(failure).toMatchObject({ reason: 'DeadlineExceeded', retryable: true });
  });

  test('the request timeout is the default, and 0 means none', async () => {
    const fake = await startFake();
    const cri = connect(undefined, 50);
    disposables.push(fake.faults.hangNext('Version'));
    expect(await failureOf(cri.runtime.version({}))).toMatchObject({ reason: 'DeadlineExceeded' });
    const release = fake.faults.hangNext('ListImages');
    const pending = cri.images.listImages({}, { timeoutMs: 0 });
    disposables.push(fake.faults.hangNext('ImageFsInfo'));
    expect(await failureOf(cri.images.imageFsInfo({}))).toMatchObject({ reason: 'DeadlineExceeded' });
    release();
    expect(await pending).toEqual({ images: [] });
  });

  test('an aborted call rejects with the reason of its signal', async () => {
    const fake = await startFake();
    disposables.push(fake.faults.hangNext('Version'));
    const abort = new AbortController();
    const cri = connect();
    const call = failureOf(cri.runtime.version({}, { signal: abort.signal }));
    const reason = new Error('stopping');
    abort.abort(reason);
    expect(await call).toBe(reason);
    expect(await failureOf(cri.runtime.version({}, { signal: abort.signal }))).toBe(reason);
  });

  test('an aborted stream ends with the reason of its signal', async () => {
    await startFake({ events: 'cri' });
    const abort = new AbortController();
    const events = connect().runtime.getContainerEvents({}, { signal: abort.signal });
    const next = failureOf(events[Symbol.asyncIterator]().next());
    const reason = new Error('stopping');
    abort.abort(reason);
    expect(await next).toBe(reason);
  });

  test('closing fails the calls in flight and all later ones', async () => {
    const fake = await startFake();
    disposables.push(fake.faults.hangNext('Version'));
    const cri = connect();
    await cri.whenConnected();
    const call = failureOf(cri.runtime.version({}));
    cri.close();
    expect(await call).toMatchObject({ reason: 'ConnectionClosed', retryable: false });
    expect(await failureOf(cri.runtime.version({}))).toMatchObject({ reason: 'ConnectionClosed' });
    expect(cri.state()).toBe('away');
  });
});

describe('versions', () => {
  test('uses v1 with a runtime that has both', async () => {
    await startFake({ versions: ['v1', 'v1alpha2'] });
    const cri = connect();
    expect(cri.criVersion()).toBeUndefined();
    await cri.runtime.version({});
    expect(cri.criVersion()).toBe('v1');
  });

  test('falls back to v1alpha2 for either service', async () => {
    const fake = await startFake({ versions: ['v1alpha2'] });
    fake.images.add({ reference: 'local/busybox:1' });
    const cri = connect();
    expect((await cri.images.listImages({})).images).toHaveLength(1);
    expect((await cri.runtime.listContainers({})).containers).toEqual([]);
    expect(cri.criVersion()).toBe('v1alpha2');
  });

  test('an rpc that the runtime lacks does not change the version', async () => {
    await startFake({ versions: ['v1', 'v1alpha2'] });
    const cri = connect();
    await cri.runtime.version({});
    const missing = await failureOf(cri.runtime.checkpointContainer({ containerId: 'x' }));
    expect(isUnimplemented(missing)).toBe(true);
    expect(cri.criVersion()).toBe('v1');
  });
});

describe('an unavailable runtime', () => {
  test('calls fail at once while it is unavailable and work afterwards', async () => {
    const fake = await startFake();
    const cri = connect();
    const states: string[] = [];
    cri.onStateChange((state) => states.push(state));
    await cri.whenConnected();
    const pod = await cri.runtime.runPodSandbox({
      config: { metadata: { name: 'p', uid: 'u', namespace: 'n' } },
    });
    disposables.push(fake.faults.hangNext('Status'));
    const underWay = failureOf(cri.runtime.status({}));
    await fake.disconnect();
    expect(await underWay).toMatchObject({ reason: 'Unavailable', retryable: true });
    await untilAway(cri);
    expect(await failureOf(cri.runtime.version({}))).toMatchObject({
      reason: 'Unavailable',
      retryable: true,
    });
    await fake.reconnect();
    await cri.whenConnected();
    const { items } = await cri.runtime.listPodSandbox({});
    expect(items.map((item) => item.id)).toEqual([pod.podSandboxId]);
    expect(states).toEqual(['connected', 'away', 'connected']);
  });

  test('it may start after the connection was created, and with another version', async () => {
    const cri = connect();
    expect(await failureOf(cri.runtime.version({}))).toMatchObject({ reason: 'Unavailable' });
    await startFake({ versions: ['v1alpha2'] });
    await cri.whenConnected();
    await cri.runtime.version({});
    expect(cri.criVersion()).toBe('v1alpha2');
  });

  test('waiting for it ends with the signal', async () => {
    const reason = new Error('stopping');
    expect(await failureOf(connect().whenConnected(AbortSignal.abort(reason)))).toBe(reason);
  });
});

test.each([
  ['ListContainers', {}, 120_000],
  ['RunPodSandbox', {}, 240_000],
  ['PullImage', {}, 0],
  ['GetContainerEvents', {}, 0],
  ['StopContainer', { timeout: 30n }, 150_000],
  ['StopContainer', {}, 120_000],
  ['StopContainer', { timeout: -1n }, 120_000],
  ['ExecSync', { timeout: 10n }, 130_000],
  ['ExecSync', {}, 0],
])('%s %o may take %d ms', (rpc, request, expected) => {
  expect(defaultTimeoutMs(rpc, request, 120_000)).toBe(expected);
});
