/** A cluster in three commands, from packages: the API server on one machine, nodes on two others, all under
 *  systemd. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, realpath, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../testing/temp.ts';
import { eventually } from '../testing/wait.ts';
import { bootMachine, type Machine } from './machine.ts';
import { addressOf, connectMachines } from './machine-network.ts';
import { buildPackages, packageFile } from './packages.ts';

const DATA = '/var/lib/control-plane-lite';

const SERVER_DEB = '/root/control-plane-lite.deb';
const AGENT_DEB = '/root/nodeagent.deb';
const AGENT_FILE = '/root/nodeagent';

let packages: TempDir;
let machines: readonly Machine[] = [];
const server = (): Machine => machine(0);

function machine(index: number): Machine {
  const found = machines[index];
  if (found === undefined) throw new Error(`there is no machine ${index}`);
  return found;
}

beforeAll(async () => {
  packages = await createTempDir();
  await buildPackages(packages.path, ['--no-images']);
  // One after the other: the first one may have to build the file system of all.
  for (const name of ['server', 'node1', 'node2']) machines = [...machines, await bootMachine(name)];
  await connectMachines(machines);
  for (const { rootfs } of machines.slice(1)) {
    // Pressure on the host must not affect this node.
    const folder = `${rootfs}/etc/systemd/system/nodeagent.service.d`;
    await mkdir(folder, { recursive: true });
    await writeFile(`${folder}/test.conf`, '[Service]\nEnvironment=NODEAGENT_FLAGS=--eviction-hard=\n');
  }
  await putPackage(0, /^control-plane-lite_.*\.deb$/, SERVER_DEB);
  await putPackage(1, /^nodeagent_.*\.deb$/, AGENT_DEB);
  await putPackage(2, /^nodeagent-.*-linux-[a-z0-9]+$/, AGENT_FILE);
  const { stdout } = await promisify(execFile)('which', [process.env['KUBECTL'] ?? 'kubectl']);
  await copyFile(await realpath(stdout.trim()), `${server().rootfs}/usr/local/bin/kubectl`);
}, 900_000);

afterAll(async () => {
  for (const each of machines) await each[Symbol.asyncDispose]();
  await packages[Symbol.asyncDispose]();
});

async function putPackage(index: number, pattern: RegExp, target: string): Promise<void> {
  const file = await packageFile(packages.path, pattern);
  await copyFile(`${packages.path}/${file}`, `${machine(index).rootfs}${target}`);
}

const kubectl = (...words: readonly string[]): Promise<string> =>
  server().run(['kubectl', `--kubeconfig=${DATA}/admin.platconfig`, ...words]);

async function readyNodes(count: number): Promise<void> {
  const path = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}';
  const wanted = Array.from({ length: count }, () => 'True').join(' ');
  await eventually(async () => (await kubectl('get', 'nodes', '-o', path).catch(() => '')) === wanted, {
    timeoutMs: 120_000,
    intervalMs: 500,
    what: `${count} nodes are ready`,
  });
}

const MANIFEST = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'local/busybox:1',
            command: ['sh', '-c', 'trap exit TERM; while true; do sleep 1; done'],
          },
        ],
        terminationGracePeriodSeconds: 1,
      },
    },
  },
};

async function podsRun(): Promise<void> {
  await eventually(
    async () => {
      const path = 'jsonpath={.status.numberReady}';
      return (await kubectl('get', 'daemonset', 'web', '-o', path).catch(() => '')) === '2';
    },
    { timeoutMs: 120_000, intervalMs: 500, what: 'both pods are ready' },
  );
}

/** Names and restarts, which stay as long as nothing is replaced. */
async function podUids(): Promise<string> {
  const path = 'jsonpath={.items[*].metadata.uid}';
  return (await kubectl('get', 'pods', '-o', path)).split(' ').toSorted().join(' ');
}

describe('three machines', () => {
  // Each step depends on those before it: after a failure the others could only time out.
  let broken: string | undefined;
  beforeEach(() => {
    if (broken !== undefined) throw new Error(`not tried, as this failed: ${broken}`);
  });
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') broken ??= task.name;
  });

  test('the server is installed by one command, sandboxed and as a user of its own', async () => {
    await server().run(['dpkg', '--install', SERVER_DEB], 180_000);
    await eventually(
      async () => (await server().try(['systemctl', 'is-active', 'control-plane-lite'])).exitCode === 0,
      { timeoutMs: 60_000, intervalMs: 200, what: 'the server is active' },
    );
    const properties = await server().run([
      'systemctl',
      'show',
      'control-plane-lite',
      '--property=ActiveState,User,StatusText',
    ]);
    expect(properties).toContain('ActiveState=active');
    expect(properties).toContain('User=control-plane-lite');
    expect(properties).toContain('StatusText=Serves https://');
    const exposure = await server().run([
      'systemd-analyze',
      'security',
      'control-plane-lite',
      '--threshold=20',
    ]);
    expect(exposure).toContain('Overall exposure level');
  });

  test('two machines join with the command that the server prints', async () => {
    const line = (await server().run(['control-plane-lite', 'token', 'create'])).trim();
    expect(line).toMatch(`nodeagent join https://${addressOf(0)}:6443`);
    await machine(1).run(['dpkg', '--install', AGENT_DEB], 180_000);
    await machine(2).run([AGENT_FILE, 'install'], 180_000);
    for (const each of machines.slice(1)) {
      expect(await each.run(['sh', '-c', line], 120_000)).toContain('this machine has joined as node');
    }
    await readyNodes(2);
    await writeFile(`${server().rootfs}/root/web.json`, JSON.stringify(MANIFEST));
    await kubectl('apply', '-f', '/root/web.json');
    await podsRun();
  });

  test('the journal finds messages by priority and by pod', async () => {
    const [name = ''] = (await kubectl('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ');
    const node = await kubectl('get', 'pod', name, '-o', 'jsonpath={.spec.nodeName}');
    const host = machine(node === 'node1' ? 1 : 2);
    const of = (...filter: readonly string[]): Promise<string> =>
      host.run(['journalctl', '--no-pager', '-o', 'json', ...filter, `POD=default/${name}`]);
    const entries = (await of()).trim().split('\n');
    expect(entries.length).toBeGreaterThan(0);
    expect(JSON.parse(entries[0] ?? '{}')).toMatchObject({
      POD: `default/${name}`,
      SYSLOG_IDENTIFIER: 'nodeagent',
      _SYSTEMD_UNIT: 'nodeagent.service',
    });
    expect(entries[0]).toMatch(/"PRIORITY":"[3-7]"/);
    expect((await of('-p', 'emerg')).trim()).toBe('');
  });

  test('a restart and a reboot of the server leave the pods alone', async () => {
    const before = await podUids();
    await server().run(['systemctl', 'restart', 'control-plane-lite']);
    await readyNodes(2);
    await server().reboot();
    await connectMachines(machines);
    await readyNodes(2);
    await podsRun();
    expect(await podUids()).toBe(before);
  });

  test('a node is back after its reboot, with its pod', async () => {
    const path = 'jsonpath={.items[?(@.spec.nodeName=="node1")].status.containerStatuses[0].containerID}';
    const container = (): Promise<string> => kubectl('get', 'pods', '-o', path);
    const before = await container();
    await machine(1).reboot();
    await connectMachines(machines);
    await eventually(async () => (await container()) !== before, {
      timeoutMs: 120_000,
      intervalMs: 500,
      what: 'the pod has another container',
    });
    await readyNodes(2);
    await podsRun();
    expect(before).toMatch(/^containerd:/);
  });

  test('a scheduled backup restores the cluster on an empty machine, with its authority', async () => {
    const before = await podUids();
    expect(await server().run(['systemctl', 'list-timers', '--no-pager'])).toContain(
      'control-plane-lite-backup',
    );
    await server().run(['systemctl', 'start', 'control-plane-lite-backup']);
    const list = (await server().run(['ls', '/var/backups/control-plane-lite'])).trim().split('\n');
    const file = `/var/backups/control-plane-lite/${list.at(-1)}`;
    await server().run(['cp', file, '/root/cluster.backup']);
    await server().run(['dpkg', '--purge', 'control-plane-lite'], 120_000);
    expect((await server().try(['ls', DATA])).exitCode).not.toBe(0);
    await server().run(['dpkg', '--install', SERVER_DEB], 180_000);
    await server().run(['systemctl', 'stop', 'control-plane-lite']);
    await server().run(['control-plane-lite', 'restore', '--force', '/root/cluster.backup']);
    await server().run(['systemctl', 'start', 'control-plane-lite'], 120_000);
    await readyNodes(2);
    await podsRun();
    expect(await podUids()).toBe(before);
  });

  test.each([
    ['Debian package', 1, ['dpkg', '--install', AGENT_DEB]],
    ['single file', 2, [AGENT_FILE, 'install']],
  ] as const)('a %s replaces the agent under its running pod', async (_, index, command) => {
    const host = machine(index);
    const containers = `jsonpath={.items[?(@.spec.nodeName=="node${index}")].status.containerStatuses[0].containerID}`;
    const before = await kubectl('get', 'pods', '-o', containers);
    const pid = (): Promise<string> =>
      host.run(['systemctl', 'show', 'nodeagent', '--property=MainPID', '--value']);
    const old = await pid();
    await host.run(command, 180_000);
    await eventually(
      async () =>
        (await pid()) !== old && (await host.try(['systemctl', 'is-active', 'nodeagent'])).exitCode === 0,
      { timeoutMs: 60_000, intervalMs: 200, what: 'another process is active' },
    );
    await readyNodes(2);
    expect(before).toMatch(/^containerd:/);
    expect(await kubectl('get', 'pods', '-o', containers)).toBe(before);
  });

  test('a purged package leaves nothing behind', async () => {
    await machine(1).run(['dpkg', '--purge', 'nodeagent'], 180_000);
    const left = await machine(1).run([
      'find',
      '/etc',
      '/usr',
      '/var',
      '/run',
      '-xdev',
      '-not',
      '-path',
      '/var/log/*',
      '-not',
      '-path',
      '/etc/systemd/system/nodeagent.service.d*',
      '(',
      '-path',
      '*nodeagent*',
      '-o',
      '-path',
      '*control-plane-lite*',
      ')',
    ]);
    expect(left).toBe('');
    expect(await machine(1).run(['ps', '-eo', 'args'])).not.toMatch(/nodeagent|trap exit TERM/);
  });
});
