/** The channel against the fake runtime; what a holder is good for is shown with a real one (`agent/runtime`). */
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
let told: string[];

/** Notes what it is told; one number for each connection that it was given. */
const hold: HoldConnection = () => {
  const number = told.filter((text) => text.startsWith('hold')).length;
  told.push(`hold ${number}`);
  return {
    underWay: (some) => void told.push(`${some ? 'some' : 'none'} ${number}`),
    release: () => void told.push(`release ${number}`),
  };
};

beforeEach(async () => {
  told = [];
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

test('one connection is held, and nothing is told of calls that only read', async () => {
  await cri.runtime.version({});
  await cri.runtime.listContainers({});
  expect(told).toEqual(['hold 0']);
});

test('the holder hears of the first call under way and of the end of the last', async () => {
  const answers = [fake.faults.hangNext('RemovePodSandbox'), fake.faults.hangNext('RemovePodSandbox')];
  const calls = [1, 2].map((number) => cri.runtime.removePodSandbox({ podSandboxId: `s${number}` }));
  await eventually(() => Promise.resolve(fake.faults.calls().length === 2));
  expect(told).toEqual(['hold 0', 'some 0']);
  answers.forEach((answer) => answer());
  await Promise.all(calls);
  expect(told).toEqual(['hold 0', 'some 0', 'none 0']);
});

test('closing with nothing under way lets go at once', () => {
  cri.close();
  expect(told).toEqual(['hold 0', 'release 0']);
});

test('closing leaves a call under way to the runtime and the holder', async () => {
  fake.faults.hangNext('RemovePodSandbox');
  const call = cri.runtime.removePodSandbox({ podSandboxId: 's1' });
  await called('RemovePodSandbox');
  cri.close();
  await expect(call).rejects.toMatchObject({ reason: 'ConnectionClosed' });
  expect(told).not.toContain('release 0');
});

test('the connection after a runtime that went away is held as well, and it is away for both until then', async () => {
  const states: string[] = [];
  cri.onStateChange((state) => states.push(state));
  await fake.disconnect();
  await eventually(() => Promise.resolve(cri.state() === 'away'));
  await fake.reconnect();
  await cri.whenConnected();
  expect(states).toEqual(['away', 'connected']);
  expect(told.toSorted()).toEqual(['hold 0', 'hold 1', 'release 0']);
});
