/** nodeagent as a service: installed on a machine with a real systemd, under the accidents of a node's life. */
import { execFile } from 'node:child_process';
import { appendFile, copyFile, mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { eventually } from '../testing/wait.ts';
import { bootMachine, type Machine } from './machine.ts';

const NODE = '/usr/local/lib/nodeagent/bin/node';
const SOCKET = '/run/nodeagent/nodeagent.sock';

let machine: Machine;

beforeAll(async () => {
  machine = await bootMachine();
  // Pressure on the host must not affect this node.
  const folder = `${machine.rootfs}/etc/systemd/system/nodeagent.service.d`;
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/test.conf`, '[Service]\nEnvironment=NODEAGENT_FLAGS=--eviction-hard=\n');
}, 900_000);

afterAll(async () => {
  await machine[Symbol.asyncDispose]();
});

/** Puts a manifest into the installed folder in one step. */
async function dropManifest(name: string, pod: Pod): Promise<void> {
  const folder = `${machine.rootfs}/etc/nodeagent/manifests`;
  await writeFile(`${folder}/.${name}`, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod }));
  await rename(`${folder}/.${name}`, `${folder}/${name}.json`);
}

function sleeper(name: string): Pod {
  const command = ['sh', '-c', `echo ${name} speaks; trap exit TERM; while true; do sleep 1; done`];
  const container = { name: 'main', image: 'local/busybox:1', command };
  return { metadata: { name }, spec: { containers: [container], terminationGracePeriodSeconds: 1 } };
}

/** Prints a word this many seconds after SIGTERM, and exits. */
function farewell(name: string, seconds: number, priorityClassName?: string): Pod {
  const say = `trap 'sleep ${seconds}; echo ${name} >> /farewell/words; exit' TERM`;
  const command = ['sh', '-c', `${say}; while true; do sleep 1 & wait $!; done`];
  const volumeMounts = [{ name: 'farewell', mountPath: '/farewell' }];
  const spec = {
    containers: [{ name: 'main', image: 'local/busybox:1', command, volumeMounts }],
    volumes: [{ name: 'farewell', hostPath: { path: '/var/farewell', type: 'DirectoryOrCreate' as const } }],
    terminationGracePeriodSeconds: 15,
  };
  return {
    metadata: { name },
    spec: priorityClassName === undefined ? spec : { ...spec, priorityClassName },
  };
}

async function call(path: string): Promise<string> {
  const script = `require('http').get({ socketPath: '${SOCKET}', path: '${path}' }, (response) => response.pipe(process.stdout))`;
  return machine.run([NODE, '-e', script]);
}

async function findPod(name: string): Promise<Pod | undefined> {
  const { items } = JSON.parse(await call('/pods')) as { readonly items: readonly Pod[] };
  return items.find((pod) => pod.metadata?.name?.startsWith(name));
}

interface Instance {
  readonly containerID: string;
  readonly restartCount: number;
}

/** The pod's container, once it runs. */
async function runningInstance(name: string): Promise<Instance> {
  return eventually(
    async () => {
      const pod = await findPod(name);
      const status = pod?.status?.containerStatuses?.[0];
      if (pod?.status?.phase !== 'Running' || status?.state?.running === undefined) return undefined;
      return { containerID: status.containerID ?? '', restartCount: status.restartCount };
    },
    { timeoutMs: 60_000, intervalMs: 200, what: `${name} runs` },
  );
}

async function property(unit: string, name: string): Promise<string> {
  return (await machine.run(['systemctl', 'show', unit, `--property=${name}`, '--value'])).trim();
}

/** Waits until the service is active with another process than before. */
async function restartedSince(pid: string): Promise<string> {
  return eventually(
    async () => {
      const [state, now] = await Promise.all([
        property('nodeagent', 'ActiveState'),
        property('nodeagent', 'MainPID'),
      ]);
      return state === 'active' && now !== pid && now !== '0' && now;
    },
    { timeoutMs: 60_000, intervalMs: 100, what: 'the service is restarted' },
  );
}

describe('nodeagent under systemd', () => {
  // Each step depends on those before it: after a failure the others could only time out.
  let broken: string | undefined;
  beforeEach(() => {
    if (broken !== undefined) throw new Error(`not tried, as this failed: ${broken}`);
  });
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') broken ??= task.name;
  });

  test('is installed by one command, and its services are active', async () => {
    const said = await machine.run(
      ['/src/node_modules/node/bin/node', '/src/agent/bin.ts', 'install'],
      120_000,
    );
    expect(said).toContain('started');
    for (const unit of ['nodeagent', 'nodeagent-containerd']) {
      expect(await property(unit, 'ActiveState')).toBe('active');
    }
    expect(await property('containerd', 'ActiveState')).toBe('inactive');
  });

  test('runs a pod from the manifest folder', async () => {
    await dropManifest('alpha', sleeper('alpha'));
    expect(await runningInstance('alpha')).toMatchObject({ restartCount: 0 });
    expect(await machine.run(['nodeagent', 'ps'])).toContain('alpha');
  });

  test('may be installed again over itself', async () => {
    const before = await runningInstance('alpha');
    await machine.run(['/src/node_modules/node/bin/node', '/src/agent/bin.ts', 'install'], 120_000);
    expect(await runningInstance('alpha')).toEqual(before);
  });

  test('leaves its pods alone when it is restarted', async () => {
    const before = await runningInstance('alpha');
    const pid = await property('nodeagent', 'MainPID');
    await machine.run(['systemctl', 'restart', 'nodeagent']);
    await restartedSince(pid);
    expect(await runningInstance('alpha')).toEqual(before);
  });

  test('is started again after kill -9, and adopts its pods', async () => {
    const before = await runningInstance('alpha');
    const pid = await property('nodeagent', 'MainPID');
    await machine.run(['kill', '-KILL', pid]);
    await restartedSince(pid);
    expect(await runningInstance('alpha')).toEqual(before);
    await dropManifest('beta', sleeper('beta'));
    await runningInstance('beta');
  });

  test('is ended by the watchdog when it hangs', async () => {
    const dropIn = `${machine.rootfs}/etc/systemd/system/nodeagent.service.d`;
    await mkdir(dropIn, { recursive: true });
    await writeFile(`${dropIn}/fast.conf`, '[Service]\nWatchdogSec=3\nLimitCORE=0\n');
    await machine.run(['systemctl', 'daemon-reload']);
    await machine.run(['systemctl', 'restart', 'nodeagent']);
    const before = await runningInstance('alpha');
    const pid = await property('nodeagent', 'MainPID');
    await machine.run(['kill', '-STOP', pid]);
    await restartedSince(pid);
    expect(await machine.run(['journalctl', '--no-pager', '-u', 'nodeagent'])).toMatch(/watchdog/i);
    expect(await runningInstance('alpha')).toEqual(before);
  });

  test('keeps its pods through a restart of containerd', async () => {
    const before = await runningInstance('alpha');
    await machine.run(['systemctl', 'restart', 'nodeagent-containerd']);
    await dropManifest('gamma', sleeper('gamma'));
    await runningInstance('gamma');
    expect(await runningInstance('alpha')).toEqual(before);
  });

  test('has its pods back after a reboot that does not wait for them', async () => {
    const before = await runningInstance('alpha');
    const downMs = await machine.reboot();
    expect(downMs).toBeLessThan(45_000);
    for (const name of ['alpha', 'beta', 'gamma']) await runningInstance(name);
    expect((await runningInstance('alpha')).containerID).not.toBe(before.containerID);
  });

  test('ends its pods one group after the other before the machine goes down, and has them back', async () => {
    const { rootfs } = machine;
    await appendFile(
      `${rootfs}/etc/nodeagent/config.yaml`,
      'shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s\n',
    );
    await machine.run(['systemctl', 'restart', 'nodeagent']);
    await eventually(async () => (await machine.run(['systemd-inhibit', '--list'])).includes('nodeagent'), {
      timeoutMs: 20_000,
      intervalMs: 200,
      what: 'the agent holds up shutdowns',
    });
    const settings = await readFile(`${rootfs}/etc/systemd/logind.conf.d/99-nodeagent.conf`, 'utf8');
    expect(settings).toContain('InhibitDelayMaxSec=30');
    // If both were signaled at the same time, the critical one would exit first.
    await dropManifest('plain', farewell('plain', 2));
    await dropManifest('critical', farewell('critical', 0, 'system-node-critical'));
    const before = await runningInstance('plain');
    await runningInstance('critical');
    await machine.reboot();
    expect(await readFile(`${rootfs}/var/farewell/words`, 'utf8')).toBe('plain\ncritical\n');
    for (const name of ['plain', 'critical', 'alpha']) await runningInstance(name);
    expect((await runningInstance('plain')).containerID).not.toBe(before.containerID);
  });

  test('writes its log to the journal, across boots', async () => {
    const log = await machine.run(['journalctl', '--no-pager', '-u', 'nodeagent', '--boot=-1']);
    expect(log).toContain('Started container main');
    expect(await machine.run(['nodeagent', 'logs', 'alpha'])).toContain('alpha speaks');
  });

  describe('as a node of a cluster', () => {
    const PLANE = '/var/lib/plane';
    /** A node needs an interface with a route. */
    const UPLINK =
      'ip link add up0 type veth peer name far0; ip link set far0 up; ip link set up0 up; ip addr add 10.99.0.1/24 dev up0; ip route add default via 10.99.0.2';
    const kubectl = (...words: readonly string[]): Promise<string> =>
      machine.run(['kubectl', `--kubeconfig=${PLANE}/admin.platconfig`, ...words]);

    async function isReady(): Promise<void> {
      const path = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}';
      await eventually(async () => (await kubectl('get', 'nodes', '-o', path)) === 'True', {
        timeoutMs: 90_000,
        intervalMs: 500,
        what: 'the node is ready',
      });
    }

    async function runPod(name: string): Promise<void> {
      const script = 'echo hello; trap exit TERM; while true; do sleep 1; done';
      await kubectl('run', name, '--image=local/busybox:1', '--', 'sh', '-c', script);
      await kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=50s');
    }

    /** Approves the node's requests, until the API server can connect to it. */
    async function speaks(word: string): Promise<string> {
      return eventually(
        async () => {
          const requests = await kubectl('get', 'csr', '-o', 'name');
          if (requests !== '') await kubectl('certificate', 'approve', ...requests.trim().split('\n'));
          return kubectl('logs', word);
        },
        { timeoutMs: 60_000, intervalMs: 500, what: `${word} is heard` },
      );
    }

    test('joins with the line that a token comes with, and its unit becomes the node', async () => {
      const { rootfs } = machine;
      const { stdout } = await promisify(execFile)('which', [process.env['KUBECTL'] ?? 'kubectl']);
      await copyFile(await realpath(stdout.trim()), `${rootfs}/usr/local/bin/kubectl`);
      const program = '/src/node_modules/node/bin/node /src/control-plane-lite/bin.ts';
      await writeFile(
        `${rootfs}/etc/systemd/system/plane.service`,
        `[Unit]\nBefore=nodeagent.service\n[Service]\nExecStartPre=-/bin/sh -c '${UPLINK}'\nExecStart=${program} --data-dir ${PLANE} --vocabulary kubernetes --enable-bootstrap-token-auth\n[Install]\nWantedBy=multi-user.target\n`,
      );
      await machine.run(['systemctl', 'enable', '--now', 'plane']);
      const line = await eventually(
        async () => machine.run([...program.split(' '), 'token', 'create', '--data-dir', PLANE]),
        { timeoutMs: 60_000, intervalMs: 500, what: 'there is a token' },
      );
      expect(line).toMatch(/^nodeagent join https:/);
      const said = await machine.run(['sh', '-c', line.trim()], 120_000);
      expect(said).toContain('this machine has joined as node node1');
      expect(said).toContain('nodeagent.service was restarted');
      await isReady();
      // Static pods keep running, and are visible on the server.
      await runningInstance('alpha');
      expect(await machine.run(['nodeagent', 'doctor'])).toMatch(/API server +ok .*node node1 is Ready/);
    });

    test('runs pods of the API server, which gets through to them', async () => {
      await runPod('talker');
      expect(await speaks('talker')).toBe('hello\n');
      expect(await kubectl('exec', 'talker', '--', 'echo', 'executed')).toBe('executed\n');
      expect(await kubectl('get', '--raw', '/api/v1/nodes/node1/proxy/metrics/resource')).toContain(
        'node_cpu_usage',
      );
      expect(await machine.run(['nodeagent', 'ps'])).toMatch(/talker .* api\b/);
    });

    test('is the node after a reboot', async () => {
      await machine.reboot();
      await isReady();
      // A graceful shutdown terminates pods of the API server finally, as upstream.
      await runPod('second');
      expect(await speaks('second')).toBe('hello\n');
      expect(await kubectl('exec', 'second', '--', 'echo', 'again')).toBe('again\n');
    });

    test('leaves, and is as it was', async () => {
      const said = await machine.run(['nodeagent', 'leave'], 90_000);
      expect(said).toContain('this machine has left');
      const config = await readFile(`${machine.rootfs}/etc/nodeagent/config.yaml`, 'utf8');
      expect(config).toMatch(/^shutdownGracePeriod: 30s$/m);
      expect(config).not.toContain('clientCAFile');
      await runningInstance('alpha');
      await machine.run(['systemctl', 'disable', '--now', 'plane']);
    });
  });

  test('is uninstalled with its pods, and keeps the manifests', async () => {
    await machine.run(['nodeagent', 'uninstall'], 120_000);
    expect(await machine.run(['ls', '/etc/nodeagent/manifests'])).toContain('alpha.json');
    const processes = await machine.run(['ps', '-eo', 'args']);
    expect(processes).not.toMatch(/nodeagent|alpha speaks/);
    expect((await machine.try(['test', '-e', '/usr/local/lib/nodeagent'])).exitCode).toBe(1);
  });
});
