/** The channel against the fake runtime; the effect of a holder is tested with a real one (`agent/runtime`). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { type FakeCri, startFakeCri } from '../fake/fake-cri.ts';
import { type CriConnection, connectRuntime } from './connection.ts';
import type { HoldConnection } from './lasting-channel.ts';

let dir: TempDir;
let fake: FakeCri;
let cri: CriConnection;
let recorded: string[];

/** Records its calls; one number for each connection that it received. */
const hold: HoldConnection = () => {
  const number = recorded.filter((text) => text.startsWith('hold')).length;
  recorded.push(`hold ${number}`);
  return {
    underWay: (some) => void recorded.push(`${some ? 'some' : 'none'} ${number}`),
    release: () => void recorded.push(`release ${number}`),
  };
};

beforeEach(async () => {
  recorded = [];
  dir = await createTempDir();
  fake = await startFakeCri({ socketPath: `${dir.path}/f.sock` });
  cri = connectRuntime({ endpoint: fake.endpoint, log: silentLogger, hold });
  await cri.whenConnected();
});

afterEach(async () => {
  cri.close();
  await fake.close();
  await dir[Symbol.asyncDispose]();
});

const called = (method: string): Promise<boolean> =>
  eventually(() => Promise.resolve(fake.faults.calls().some((call) => call.method === method)));

test('one connection is held, and read-only calls are not reported', async () => {
  await cri.runtime.version({});
  await cri.runtime.listContainers({});
  expect(recorded).toEqual(['hold 0']);
});

test('the holder is notified of the first call in flight and of the end of the last', async () => {
  const releases = [fake.faults.hangNext('RemovePodSandbox'), fake.faults.hangNext('RemovePodSandbox')];
  const calls = [1, 2].map((number) => cri.runtime.removePodSandbox({ podSandboxId: `s${number}` }));
  await eventually(() => Promise.resolve(fake.faults.calls().length === 2));
  expect(recorded).toEqual(['hold 0', 'some 0']);
  releases.forEach((release) => release());
  await Promise.all(calls);
  expect(recorded).toEqual(['hold 0', 'some 0', 'none 0']);
});

test('closing without calls in flight releases at once', () => {
  cri.close();
  expect(recorded).toEqual(['hold 0', 'release 0']);
});

test('closing leaves a call in flight to the runtime and the holder', async () => {
  fake.faults.hangNext('RemovePodSandbox');
  const call = cri.runtime.removePodSandbox({ podSandboxId: 's1' });
  await called('RemovePodSandbox');
  cri.close();
  await expect(call).rejects.toMatchObject({ reason: 'ConnectionClosed' });
  expect(recorded).not.toContain('release 0');
});

test('the connection after a runtime outage is held as well, and it is unavailable for both until then', async () => {
  const states: string[] = [];
  cri.onStateChange((state) => states.push(state));
  await fake.disconnect();
  await eventually(() => Promise.resolve(cri.state() === 'away'));
  await fake.reconnect();
  await cri.whenConnected();
  expect(states).toEqual(['away', 'connected']);
  expect(recorded.toSorted()).toEqual(['hold 0', 'hold 1', 'release 0']);
});
