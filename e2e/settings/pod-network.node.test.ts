/** Settings of the pod network, on a private managed containerd. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { bridgeName } from '#agent/runtime/managed/network.ts';
import { readNetworkRecord } from '#agent/runtime/managed/network-record.ts';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { startTestContainerd } from '../../testing/containerd.ts';

const IFF_PROMISC = 0x100;

const podText = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'local/busybox:1', command: ['sleep', '100000'] }],
    },
  });

interface Port {
  readonly linkinfo: { readonly info_slave_data: { readonly hairpin: boolean } };
}

async function hairpins(bridge: string): Promise<readonly boolean[]> {
  const { stdout } = await promisify(execFile)('ip', ['-json', '-details', 'link', 'show', 'master', bridge]);
  return (JSON.parse(stdout) as readonly Port[]).map(({ linkinfo }) => linkinfo.info_slave_data.hairpin);
}

test('pods have addresses of --pod-cidr, and the bridge is as --hairpin-mode says', async () => {
  await using runtime = await startTestContainerd();
  const record = await readNetworkRecord(runtime.socketPath);
  const bridge = record?.bridge ?? '';
  expect(bridge).toBe(bridgeName(record?.name ?? ''));
  const flagsOf = async (): Promise<number> =>
    Number(await readFile(`/sys/class/net/${bridge}/flags`, 'utf8'));

  await using agent = await TestAgent.create({
    endpoint: runtime.endpoint,
    flags: ['--pod-cidr=10.200.77.0/24', '--hairpin-mode=hairpin-veth'],
  });
  await agent.put('one.json', podText('one'));
  const one = await agent.waitFor('one', isReady);
  expect(one.status?.podIP).toMatch(/^10\.200\.77\./);
  expect(await hairpins(bridge)).toEqual([true]);
  expect((await flagsOf()) & IFF_PROMISC).toBe(0);
  await agent.drop('one.json');
  await agent.stop();

  await agent.start(['--pod-cidr=10.200.78.0/24', '--hairpin-mode=promiscuous-bridge']);
  await agent.put('two.json', podText('two'));
  const two = await agent.waitFor('two', isReady);
  expect(two.status?.podIP).toMatch(/^10\.200\.78\./);
  expect((await flagsOf()) & IFF_PROMISC).toBe(IFF_PROMISC);

  // A restart of the runtime retains the choices of the agent.
  runtime.containerd.release();
  const before = await readFile(record?.conflistPath ?? '', 'utf8');
  await runtime.startAgain();
  expect(await readFile(record?.conflistPath ?? '', 'utf8')).toBe(before);
  await agent.drop('two.json');
});
