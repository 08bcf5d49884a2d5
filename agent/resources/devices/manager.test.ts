import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Container, Pod } from '#api/gen/core-v1.ts';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { ContainerRequest } from '../contract.ts';
import { createDeviceManager, type DeviceManager } from './manager.ts';
import type { PluginConnection } from './plugin.ts';
import { loadDeviceProtocol } from './protocol.ts';
import type { Devices } from './stock.ts';

const GPU = 'example.com/gpu';
const ANYWHERE = { nodes: undefined, preferred: false };

let dir: string;
let clock: FakeClock;
beforeEach(async () => {
  dir = await mkdtemp('/tmp/na-dev-');
  clock = createFakeClock();
});
afterEach(async () => {
  await rm(dir, { recursive: true });
});

const create = (waitsFor: (resource: string) => boolean = () => false): Promise<DeviceManager> =>
  createDeviceManager(
    { clock, log: silentLogger, messages: () => Promise.resolve(loadDeviceProtocol().types) },
    { checkpointPath: join(dir, 'checkpoint'), machine: 0b11, waitsFor },
  );

interface FakePlugin extends PluginConnection {
  readonly calls: string[];
  setDevices(devices: string): void;
  end(): void;
}

/** `a b!` are a healthy and an unhealthy device. */
const devicesFrom = (text: string): Devices =>
  new Map(
    text
      .split(' ')
      .filter((one) => one !== '')
      .map((one) => {
        const id = one.replace('!', '');
        return [id, { id, healthy: !one.endsWith('!'), nodes: [] }];
      }),
  );

function fakePlugin(first: string, given: Partial<PluginConnection> = {}): FakePlugin {
  const calls: string[] = [];
  let onDevices: (devices: Devices) => void = () => undefined;
  const ended = Promise.withResolvers<void>();
  return {
    calls,
    options: { preStartRequired: false, getPreferredAllocationAvailable: false },
    setDevices: (devices) => onDevices(devicesFrom(devices)),
    end: () => ended.resolve(),
    async follow(signal, listener) {
      onDevices = listener;
      listener(devicesFrom(first));
      signal.addEventListener('abort', () => ended.reject(signal.reason), { once: true });
      await ended.promise;
    },
    prefer: () => Promise.resolve([]),
    allocate(devices) {
      calls.push(`allocate ${devices.join(' ')}`);
      const mount = { containerPath: '/m', hostPath: '/h', readOnly: true };
      return Promise.resolve({
        envs: { GPUS: devices.join(',') },
        mounts: [mount],
        devices: devices.map((id) => ({
          containerPath: `/dev/${id}`,
          hostPath: '/dev/null',
          permissions: 'rw',
        })),
        annotations: { note: 'yes' },
        cdiDevices: [],
      });
    },
    preStart(devices) {
      calls.push(`preStart ${devices.join(' ')}`);
      return Promise.resolve();
    },
    ...given,
  };
}

const container = (name: string, count: number): Container => ({
  name,
  resources: { limits: { cpu: '1', [GPU]: String(count) } },
});
const request = (uid: string, one: Container, init: readonly Container[] = []): ContainerRequest => {
  const pod: Pod = { metadata: { uid }, spec: { initContainers: init, containers: [one] } };
  return { pod, container: one, init: false };
};

describe('createDeviceManager', () => {
  test('counts devices, healthy and not', async () => {
    const manager = await create();
    let changes = 0;
    manager.onChange?.(() => (changes += 1));
    const plugin = fakePlugin('a b!');
    await manager.register(GPU, plugin);
    expect(manager.resources?.()).toEqual({
      capacity: { [GPU]: '2' },
      allocatable: { [GPU]: '1' },
      removed: [],
      forgotten: true,
    });
    manager.statusWritten?.();
    expect(manager.resources?.()).not.toHaveProperty('forgotten');
    plugin.setDevices('a b c');
    expect(manager.resources?.()).toMatchObject({ allocatable: { [GPU]: '3' } });
    expect(changes).toBe(2);
    manager.stop();
    await manager.saved();
  });

  test('grants a container the same devices each time, and calls the plugin once', async () => {
    const manager = await create();
    const plugin = fakePlugin('a b c');
    await manager.register(GPU, plugin);
    manager.allocate(request('u1', container('c', 2)), ANYWHERE);
    const first = await manager.grant?.(request('u1', container('c', 2)));
    expect(first).toEqual({
      env: { GPUS: 'a,b' },
      annotations: { note: 'yes' },
      mounts: [{ containerPath: '/m', hostPath: '/h', readonly: true }],
      devices: [
        { containerPath: '/dev/a', hostPath: '/dev/null', permissions: 'rw' },
        { containerPath: '/dev/b', hostPath: '/dev/null', permissions: 'rw' },
      ],
    });
    plugin.setDevices('a! b! c!');
    expect(await manager.grant?.(request('u1', container('c', 2)))).toEqual(first);
    expect(plugin.calls).toEqual(['allocate a b']);
    manager.stop();
    await manager.saved();
  });

  test('rejects unavailable devices, and releases reservations', async () => {
    const manager = await create();
    await manager.register(GPU, fakePlugin('a b'));
    manager.allocate(request('u1', container('c', 2)), ANYWHERE);
    const book = (): void => manager.allocate(request('u2', container('c', 1)), ANYWHERE);
    expect(book).toThrow(`requested number of devices unavailable for ${GPU}. Requested: 1, Available: 0`);
    manager.release('u1');
    expect(book).not.toThrow();
    expect([...manager.holders()]).toEqual(['u2']);
    expect(() => manager.allocate(request('u2', container('c', 2)), ANYWHERE)).toThrow('from 1 to 2');
    manager.stop();
    await manager.saved();
  });

  test('containers reuse devices of init containers', async () => {
    const manager = await create();
    await manager.register(GPU, fakePlugin('a b'));
    const init = container('i', 2);
    const main = container('c', 1);
    manager.allocate({ ...request('u1', main, [init]), container: init, init: true }, ANYWHERE);
    manager.allocate(request('u1', main, [init]), ANYWHERE);
    manager.allocate({ ...request('u1', main, [init]), container: container('d', 1) }, ANYWHERE);
    const held = (name: string) =>
      manager.held('u1', name).flatMap(({ devices }) => devices.map(({ id }) => id));
    expect([held('i'), held('c'), held('d')]).toEqual([['a', 'b'], ['a'], ['b']]);
    manager.stop();
    await manager.saved();
  });

  test('applies the preference of a plugin', async () => {
    const manager = await create();
    const options = { preStartRequired: true, getPreferredAllocationAvailable: true };
    const plugin = fakePlugin('a b c', { options, prefer: () => Promise.resolve(['c']) });
    await manager.register(GPU, plugin);
    manager.allocate(request('u1', container('c', 1)), ANYWHERE);
    await manager.grant?.(request('u1', container('c', 1)));
    await manager.grant?.(request('u1', container('c', 1)));
    expect(plugin.calls).toEqual(['allocate c', 'preStart c', 'preStart c']);
    manager.stop();
    await manager.saved();
  });

  test('devices are removed five minutes after their plugin disconnected', async () => {
    const manager = await create();
    const plugin = fakePlugin('a');
    await manager.register(GPU, plugin);
    plugin.end();
    await clock.advance(0);
    expect(manager.resources?.()).toMatchObject({ capacity: { [GPU]: '1' }, allocatable: { [GPU]: '0' } });
    await clock.advance(4 * 60_000);
    const again = fakePlugin('a');
    await manager.register(GPU, again);
    await clock.advance(10 * 60_000);
    expect(manager.resources?.()).toMatchObject({ allocatable: { [GPU]: '1' } });
    again.end();
    await clock.advance(0);
    await clock.advance(5 * 60_000);
    expect(manager.resources?.()).toMatchObject({ capacity: {}, allocatable: {}, removed: [GPU] });
    manager.stop();
    await manager.saved();
  });

  test('a plugin that registers again replaces the other seamlessly', async () => {
    const manager = await create();
    await manager.register(GPU, fakePlugin('a'));
    const seen: (string | undefined)[] = [];
    manager.onChange?.(() => seen.push(manager.resources?.().allocatable[GPU]));
    await manager.register(GPU, fakePlugin('a b'));
    await clock.advance(0);
    expect(seen).toEqual(['2']);
    manager.stop();
    await manager.saved();
  });

  test('a restarted agent restores allocations, and waits for the plugin', async () => {
    const before = await create();
    const plugin = fakePlugin('a b');
    await before.register(GPU, plugin);
    before.allocate(request('u1', container('c', 1)), ANYWHERE);
    const granted = await before.grant?.(request('u1', container('c', 1)));
    before.allocate(request('u2', container('c', 1)), ANYWHERE);
    before.stop();
    await before.saved();

    const after = await create();
    expect(after.resources?.()).toMatchObject({ capacity: { [GPU]: '0' } });
    expect(await after.grant?.(request('u1', container('c', 1)))).toEqual(granted);
    await expect(after.grant?.(request('u2', container('c', 1)))).rejects.toThrow('no device plugin serves');
    const again = fakePlugin('a b');
    await after.register(GPU, again);
    await after.grant?.(request('u2', container('c', 1)));
    expect(again.calls).toEqual(['allocate b']);
    after.stop();
    await after.saved();
  });

  test('a container waits for a plugin that may still register', async () => {
    const manager = await create((resource) => resource === GPU);
    manager.allocate(request('u1', container('c', 1)), ANYWHERE);
    await expect(manager.grant?.(request('u1', container('c', 1)))).rejects.toThrow(
      'no device plugin has registered',
    );
    await manager.register(GPU, fakePlugin('a'));
    expect(await manager.grant?.(request('u1', container('c', 1)))).toMatchObject({ env: { GPUS: 'a' } });
    const elsewhere = await create();
    expect(
      await elsewhere.grant?.(request('u2', { name: 'c', resources: { limits: { 'a.b/c': '1' } } })),
    ).toEqual({});
    manager.stop();
    await manager.saved();
  });

  test('starts empty with an invalid checkpoint', async () => {
    await writeFile(join(dir, 'checkpoint'), '{"Data":{},"Checksum":1}');
    const manager = await create();
    expect(manager.resources?.()).toEqual({ capacity: {}, allocatable: {}, removed: [] });
    await manager.register(GPU, fakePlugin('a'));
    await manager.saved();
    expect(await readFile(join(dir, 'checkpoint'), 'utf8')).toContain(GPU);
    manager.stop();
    await manager.saved();
  });
});
