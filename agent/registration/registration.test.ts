/** Order of the registration, with a server that only records requests. */
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ServerUnreachableError } from '../api-client/errors.ts';
import { createServerContact } from '../api-client/server-contact.ts';
import { createDefaultConfig } from '../config/default-config.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import { MACHINE } from '../machine/machine.fixture.ts';
import { createNodeRegistration } from './registration.ts';
import type { RuntimeReport } from './runtime-state.ts';
import { registrationSettings } from './settings.ts';

const READY: RuntimeReport = {
  name: 'containerd',
  version: '1',
  conditions: ['RuntimeReady', 'NetworkReady'].map((type) => ({
    type,
    status: true,
    reason: '',
    message: '',
  })),
};

function start(config: Partial<AgentConfig> = {}) {
  const clock = createFakeClock();
  const calls: string[] = [];
  const runtime = Promise.withResolvers<RuntimeReport>();
  let away = false;
  const respond = (call: string, value: Json): Promise<Json> => {
    calls.push(call);
    return away ? Promise.reject(new ServerUnreachableError('away')) : Promise.resolve(value);
  };
  const named = (object: Json): Json => ({
    ...object,
    metadata: { name: 'n1', uid: 'u1', resourceVersion: '1' },
  });
  const client: Pick<ApiClient, 'create' | 'get' | 'list' | 'watch' | 'patch' | 'update'> = {
    create: ({ resource }, object) => respond(`create ${resource}`, named(object)),
    get: ({ resource }) => respond(`get ${resource}`, named({})),
    list: () => Promise.resolve({ metadata: { resourceVersion: '1' }, items: [] }),
    // Emits no event until it is stopped.
    async *watch(_, signal) {
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('ended')));
      });
      yield { type: 'BOOKMARK', object: {} };
    },
    patch: ({ resource }, { content }) => respond(`patch ${resource}`, named(content as Json)),
    update: ({ resource }, object) => respond(`update ${resource}`, named(object)),
  };
  const registration = createNodeRegistration(
    {
      api: client,
      heartbeat: client,
      contact: createServerContact({ clock, log: silentLogger }),
      clock,
      log: silentLogger,
      readMachine: () => Promise.resolve(MACHINE),
      readRuntime: () => runtime.promise,
      event: () => undefined,
    },
    registrationSettings({ ...createDefaultConfig(), ...config }, { nodeName: 'n1', agentVersion: 'v1' }),
  );
  const stop = new AbortController();
  const running = registration.run(stop.signal);
  return {
    registration,
    clock,
    calls,
    runtime,
    setAway: (is: boolean) => void (away = is),
    async [Symbol.asyncDispose]() {
      stop.abort();
      runtime.resolve(READY);
      await running;
    },
  };
}

describe('createNodeRegistration', () => {
  test('waits for the runtime before its first report', async () => {
    await using world = start();
    await world.clock.advance(5000);
    expect(world.calls).toEqual([]);
    world.runtime.resolve(READY);
    await world.clock.advance(0);
    await world.clock.advance(0);
    expect(world.calls[0]).toBe('create nodes');
    expect(world.calls).toContain('get leases');
    expect(world.registration.node()?.metadata?.uid).toBe('u1');
  });

  test('limits the wait', async () => {
    await using world = start();
    await world.clock.advance(0);
    await world.clock.advance(10_000);
    await world.clock.advance(0);
    expect(world.calls[0]).toBe('create nodes');
  });

  test('registers once the server is available', async () => {
    await using world = start();
    world.runtime.resolve(READY);
    world.setAway(true);
    await world.clock.advance(0);
    await world.clock.advance(20_000);
    expect(new Set(world.calls)).toEqual(new Set(['create nodes']));
    expect(world.calls.length).toBeGreaterThan(5);
    world.setAway(false);
    await world.clock.advance(8000);
    expect(world.registration.node()?.metadata?.name).toBe('n1');
  });

  test('does not register when disabled', async () => {
    await using world = start({ registerNode: false });
    world.runtime.resolve(READY);
    await world.clock.advance(0);
    await world.clock.advance(60_000);
    expect(world.calls).toEqual([]);
    expect(world.registration.node()).toBeUndefined();
  });
});
