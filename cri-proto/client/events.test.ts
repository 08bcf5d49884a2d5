/** The event stream across reconnects, on the fake. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { type FakeCri, type FakeCriOptions, startFakeCri } from '../fake/fake-cri.ts';
import { connectRuntime } from './connection.ts';
import { watchRuntimeEvents } from './events.ts';
import type { RuntimeEvent } from './runtime-event.ts';

let dir: TempDir;
const disposables: (() => unknown)[] = [];

beforeEach(async () => {
  dir = await createTempDir();
});

afterEach(async () => {
  for (const dispose of disposables.splice(0).reverse()) await dispose();
  await dir[Symbol.asyncDispose]();
});

interface Watched {
  readonly fake: FakeCri;
  readonly events: AsyncGenerator<RuntimeEvent, void, undefined>;
  readonly stop: () => void;
}

async function watch(options: Partial<FakeCriOptions>): Promise<Watched> {
  const fake = await startFakeCri({ socketPath: `${dir.path}/f.sock`, ...options });
  fake.images.add({ reference: 'local/busybox:1' });
  const cri = connectRuntime({ endpoint: fake.endpoint, log: silentLogger });
  const abort = new AbortController();
  const deps = { clock: systemClock, log: silentLogger, signal: abort.signal };
  disposables.push(
    () => fake.close(),
    () => cri.close(),
    () => abort.abort(new Error('test over')),
  );
  return { fake, events: watchRuntimeEvents(cri, deps), stop: () => abort.abort(new Error('stop')) };
}

async function take(events: Watched['events'], count: number): Promise<readonly RuntimeEvent[]> {
  const taken: RuntimeEvent[] = [];
  while (taken.length < count) {
    const next = await events.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
}

function runContainer(fake: FakeCri, name: string): { sandboxId: string; containerId: string } {
  const { pods } = fake;
  const metadata = { name, uid: name, namespace: 'n', attempt: 0 };
  const empty = { labels: {}, annotations: {} };
  const sandboxConfig = { metadata, ...empty, hostname: '', logDirectory: '', portMappings: [] };
  const none = { dnsConfig: undefined, linux: undefined, windows: undefined };
  const sandboxId = pods.runSandbox({ ...sandboxConfig, ...none }, '');
  const containerId = pods.createContainer(sandboxId, containerConfig(name), 'image');
  pods.startContainer(containerId);
  return { sandboxId, containerId };
}

function containerConfig(name: string): Parameters<FakeCri['pods']['createContainer']>[1] {
  return {
    metadata: { name, attempt: 0 },
    image: undefined,
    command: [],
    args: [],
    workingDir: '',
    envs: [],
    mounts: [],
    devices: [],
    labels: {},
    annotations: {},
    logPath: '',
    stdin: false,
    stdinOnce: false,
    tty: false,
    linux: undefined,
    windows: undefined,
    CDIDevices: [],
    stopSignal: 'RUNTIME_DEFAULT',
  };
}

describe.each(['cri', 'containerd'] as const)('watchRuntimeEvents on %s events', (source) => {
  test('reports containers and sandboxes after a resync', async () => {
    const { fake, events } = await watch({ events: source });
    expect(await take(events, 1)).toEqual([{ kind: 'resync' }]);
    const { sandboxId, containerId } = runContainer(fake, 'a');
    fake.pods.exitContainer(containerId, { exitCode: 7 });
    fake.pods.removeContainer(containerId);
    expect(await take(events, 6)).toEqual([
      { kind: 'created', containerId: sandboxId },
      { kind: 'started', containerId: sandboxId },
      { kind: 'created', containerId },
      { kind: 'started', containerId },
      { kind: 'stopped', containerId, exitCode: 7, exitedAtMs: expect.closeTo(Date.now(), -4) as number },
      { kind: 'deleted', containerId },
    ]);
  });

  test('resyncs after the runtime came back', async () => {
    const { fake, events } = await watch({ events: source });
    await take(events, 1);
    const next = take(events, 1);
    await fake.disconnect();
    runContainer(fake, 'missed');
    await fake.reconnect();
    expect(await next).toEqual([{ kind: 'resync' }]);
    const { sandboxId, containerId } = runContainer(fake, 'seen');
    const ids = (await take(events, 4)).map((event) => 'containerId' in event && event.containerId);
    expect(ids).toEqual([sandboxId, sandboxId, containerId, containerId]);
  });

  test('ends without an error when its signal fires', async () => {
    const { events, stop } = await watch({ events: source });
    await take(events, 1);
    const end = events.next();
    stop();
    expect(await end).toEqual({ done: true, value: undefined });
  });
});

describe('watchRuntimeEvents', () => {
  test('reports OOM kills where containerd does', async () => {
    const { fake, events } = await watch({ events: 'containerd' });
    await take(events, 1);
    const { containerId } = runContainer(fake, 'a');
    await take(events, 4);
    fake.pods.exitContainer(containerId, { oomKilled: true });
    expect(await take(events, 2)).toMatchObject([
      { kind: 'oom', containerId },
      { kind: 'stopped', containerId, exitCode: 137 },
    ]);
  });

  test('reports a runtime without events, and retries after a reconnect', async () => {
    const { fake, events } = await watch({ events: 'none' });
    expect(await take(events, 1)).toEqual([{ kind: 'unsupported' }]);
    const next = take(events, 1);
    await fake.disconnect();
    await fake.reconnect();
    expect(await next).toEqual([{ kind: 'unsupported' }]);
  });

  test('waits for a runtime that has not started', async () => {
    const { fake, events } = await watch({});
    await fake.disconnect();
    const next = take(events, 1);
    await fake.reconnect();
    expect(await next).toEqual([{ kind: 'resync' }]);
  });
});
