import { describe, expect, test } from 'vitest';
import { createPodNetworks, networkStats } from './pod-network.ts';
import { createProcesses, parsePid } from './processes.ts';

const DEV = '  eth1: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n  eth0: 11 2 3 4 0 0 0 0 15 6 7 8 0 0 0 0\n';

function setUp() {
  const links: Record<string, string> = {
    '/proc/self/ns/net': 'net:[1]',
    '/proc/7/ns/net': 'net:[2]',
    '/proc/8/ns/net': 'net:[1]',
  };
  const networks = createPodNetworks({
    processes: { ofSandbox: (id) => Promise.resolve(id === 'own' ? 7 : id === 'host' ? 8 : undefined) },
    readProc: () => Promise.resolve(DEV),
    readLink: (path) => Promise.resolve(links[path] ?? ''),
  });
  return { networks, links };
}

describe('createPodNetworks', () => {
  test('reads the counters of a pod with its own network', async () => {
    const { networks } = setUp();
    expect(await networks.of('own')).toMatchObject([{ name: 'eth1', rxBytes: 1 }, { name: 'eth0' }]);
    expect(await networks.of('host')).toBeUndefined();
    expect(await networks.of('gone')).toBeUndefined();
  });

  test('detects a reused PID', async () => {
    const { networks, links } = setUp();
    await networks.of('own');
    links['/proc/7/ns/net'] = 'net:[3]';
    expect(await networks.of('own')).toBeUndefined();
    networks.keep(new Set());
    expect(await networks.of('own')).toHaveLength(2);
  });
});

test('networkStats lists the default interface first', async () => {
  const counts = (await setUp().networks.of('own')) ?? [];
  const eth0 = { name: 'eth0', rxBytes: 11, rxErrors: 3, txBytes: 15, txErrors: 7 };
  expect(networkStats(counts, 't')).toEqual({
    time: 't',
    ...eth0,
    interfaces: [{ name: 'eth1', rxBytes: 1, rxErrors: 3, txBytes: 5, txErrors: 7 }, eth0],
  });
  expect(networkStats([], 't')).toBeUndefined();
});

describe('createProcesses', () => {
  test.each([
    [{ info: '{"pid":7,"x":1}' }, 7],
    [{ info: '{"pid":0}' }, undefined],
    [{ info: '{"pid":"7"}' }, undefined],
    [{ info: 'x' }, undefined],
    [{}, undefined],
  ])('reads %j', (info, pid) => {
    expect(parsePid(info)).toBe(pid);
  });

  test('queries once', async () => {
    let asked = 0;
    const response = { status: undefined, info: { info: '{"pid":7}' } };
    const runtime = {
      containerStatus: () => Promise.resolve(response),
      podSandboxStatus() {
        asked += 1;
        return Promise.resolve({ ...response, containersStatuses: [], timestamp: 0n });
      },
    };
    const processes = createProcesses({ runtime });
    expect([await processes.ofSandbox('s'), await processes.ofSandbox('s'), asked]).toEqual([7, 7, 1]);
    processes.keep(new Set());
    expect([await processes.ofSandbox('s'), asked]).toEqual([7, 2]);
  });
});
