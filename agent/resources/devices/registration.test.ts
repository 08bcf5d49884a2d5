import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createDeviceRegistration } from './registration.ts';

interface World extends ReturnType<typeof createDeviceRegistration> {
  /** Sockets that were connected to. */
  readonly sockets: readonly string[];
}

function create(): World {
  const sockets: string[] = [];
  const registration = createDeviceRegistration(
    {
      clock: createFakeClock(),
      log: silentLogger,
      manager: { register: () => Promise.resolve(), deregister: () => undefined },
      connect(path) {
        sockets.push(path);
        return Promise.reject(new Error('connection refused'));
      },
    },
    { dir: '/dir', domain: 'platform.test' },
  );
  return { ...registration, sockets };
}

const REQUEST = {
  version: 'v1beta1',
  endpoint: 'gpu.sock',
  resourceName: 'example.com/gpu',
  options: undefined,
};

describe('createDeviceRegistration', () => {
  test('connects to the socket beside its own', () => {
    const world = create();
    world.register(REQUEST);
    expect(world.sockets).toEqual(['/dir/gpu.sock']);
  });

  test.each([
    ['another version', { version: 'v1alpha' }, 'not supported'],
    ['a resource without a domain', { resourceName: 'gpu' }, 'is invalid'],
    ['a resource of the platform', { resourceName: 'platform.test/cpu' }, 'is invalid'],
    ['a resource with a wrong name', { resourceName: 'example.com/-' }, 'is invalid'],
    ['no socket', { endpoint: '' }, 'not the name of a socket'],
    ['a socket elsewhere', { endpoint: '../plugins/x.sock' }, 'not the name of a socket'],
    ['a hidden one', { endpoint: '..' }, 'not the name of a socket'],
  ])('rejects %s', (_, change, message) => {
    const world = create();
    expect(() => world.register({ ...REQUEST, ...change })).toThrow(message);
    expect(world.sockets).toEqual([]);
  });

  test('rejects plugins of the plugin directory in the same way', async () => {
    const { handler } = create();
    const { signal } = new AbortController();
    const plugin = { name: 'example.com/gpu', endpoint: '/p/gpu.sock', versions: ['v1beta1'] };
    await expect(handler.register({ ...plugin, versions: ['v2'] }, signal)).rejects.toThrow('not supported');
    await expect(handler.register({ ...plugin, name: 'gpu' }, signal)).rejects.toThrow('is invalid');
    await expect(handler.register({ ...plugin, endpoint: 'gpu.sock' }, signal)).rejects.toThrow(
      'is not a path',
    );
    await expect(handler.register(plugin, signal)).rejects.toThrow('connection refused');
  });
});
