/** Generated configurations on a real containerd: the container observes the settings of the pod. */
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Container, Pod } from '#api/gen/core-v1.ts';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { createTempDir, type TempDir } from '../../../testing/temp.ts';
import { eventually } from '../../../testing/wait.ts';
import { runHandler } from '../../hooks/lifecycle.ts';
import { ownerSelector, parseContainerLabels, parseSandboxLabels } from '../../pod-identity/labels.ts';
import { createExecCalls } from '../../probes/exec-sync.ts';
import { type ProbeResult } from '../../probes/probe-types.ts';
import { createProbeRunner } from '../../probes/runner.ts';
import { createContainerConfig } from './container.ts';
import { resolveEnv } from './env.ts';
import { podHostsFile } from './hostname.ts';
import { DNS, OWNER, RESOURCES, SECURITY, SETTINGS } from './pod.fixture.ts';
import { createSandboxConfig } from './sandbox.ts';

const container: Container = {
  name: 'app',
  image: 'local/busybox:1',
  command: ['sh', '-c'],
  args: ['echo "$(NAME)" > /data/said; mkdir -p /tmp/www; exec httpd -f -p $(PORT) -h /tmp/www'],
  workingDir: '/data',
  ports: [{ name: 'http', containerPort: 8080 }],
  env: [
    { name: 'PORT', value: '8080' },
    { name: 'GREETING', value: 'hello from $(NAME)' },
    { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'LATE', value: '$(NAME)' },
  ],
  volumeMounts: [
    { name: 'data', mountPath: '/data' },
    { name: 'data', mountPath: '/fixed', readOnly: true },
    { name: 'tmp', mountPath: '/tmp' },
  ],
  resources: { limits: { cpu: '500m', memory: '64Mi' }, requests: { cpu: '250m', memory: '64Mi' } },
  securityContext: {
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
};

/** Listening sockets of the container's server, as the kernel lists them. */
const SERVER_PORT_HEX = ':1F90 ';

const uid = randomUUID();
const pod: Pod = {
  metadata: { name: 'config-proof', namespace: 'proof', uid, labels: { tier: 'front' } },
  spec: {
    containers: [container],
    hostname: 'mail',
    subdomain: 'sub',
    securityContext: {
      runAsUser: 1234,
      runAsGroup: 2345,
      fsGroup: 3456,
      supplementalGroups: [4567],
      sysctls: [{ name: 'net/ipv4/ip_unprivileged_port_start', value: '1000' }],
    },
  },
};

const owner = { ...OWNER, instance: uid };
const never = new AbortController().signal;
let connection: CriConnection;
let folder: TempDir;
let podSandboxId: string;
let podIP: string;
let containerId: string;

beforeAll(async () => {
  folder = await createTempDir();
  connection = connectRuntime({ endpoint: inject('criEndpoint'), log: silentLogger });
  await connection.whenConnected();
  await startSandbox();
  await startContainer();
});

afterAll(async () => {
  await connection.runtime.stopPodSandbox({ podSandboxId });
  await connection.runtime.removePodSandbox({ podSandboxId });
  connection.close();
  await folder[Symbol.asyncDispose]();
});

const sandboxConfig = () => {
  const result = createSandboxConfig({
    pod,
    attempt: 0,
    owner,
    logDirectory: `${folder.path}/logs/pod`,
    cgroupParent: '',
    dns: DNS,
    resources: RESOURCES,
  });
  if (result.kind === 'error') throw new Error(result.message);
  return result.config;
};

async function startSandbox(): Promise<void> {
  const config = sandboxConfig();
  await mkdir(`${config.logDirectory}/app`, { recursive: true });
  ({ podSandboxId } = await connection.runtime.runPodSandbox({ config }));
  const { status } = await connection.runtime.podSandboxStatus({ podSandboxId });
  podIP = status?.network?.ip ?? '';
}

async function startContainer(): Promise<void> {
  const { path } = folder;
  for (const name of ['data', 'tmp']) await mkdir(`${path}/${name}`);
  await writeFile(`${path}/last`, '');
  for (const name of ['data', 'tmp', 'last']) await chmod(`${path}/${name}`, 0o777);
  const hosts = { vocabulary: VOCABULARIES.plat, podIPs: [podIP], hostname: 'mail', domain: 'sub.proof' };
  await writeFile(`${path}/hosts`, podHostsFile(hosts));
  const env = resolveEnv({ pod, container, configMaps: new Map(), secrets: new Map(), allocatable: {} });
  if (env.kind === 'error') throw new Error(env.message);
  const volume = (name: string) => ({
    name,
    hostPath: `${path}/${name}`,
    readOnly: false,
    seLinuxRelabel: false,
  });
  const result = createContainerConfig({
    pod,
    container,
    kind: 'app',
    attempt: 0,
    owner,
    image: { ref: 'local/busybox:1', user: {} },
    env: env.env,
    volumes: new Map(['data', 'tmp'].map((name) => [name, volume(name)])),
    subPaths: new Map(),
    hostsFile: `${path}/hosts`,
    terminationLog: `${path}/last`,
    settings: { ...SETTINGS, security: SECURITY },
  });
  if (result.kind === 'error') throw new Error(result.message);
  const request = { podSandboxId, config: result.config, sandboxConfig: sandboxConfig() };
  ({ containerId } = await connection.runtime.createContainer(request));
  await connection.runtime.startContainer({ containerId });
  await eventually(async () => (await run('cat /data/said')) !== '');
  await eventually(async () => (await run('cat /proc/net/tcp /proc/net/tcp6')).includes(SERVER_PORT_HEX), {
    what: 'the container serves',
  });
}

async function run(script: string): Promise<string> {
  const { stdout } = await connection.runtime.execSync({
    containerId,
    cmd: ['sh', '-c', script],
    timeout: 10n,
  });
  return Buffer.from(stdout).toString().trim();
}

describe('a container made from the generated configs', () => {
  test.each([
    ['its hostname', 'hostname', /^mail$/],
    [
      'DNS of the cluster',
      'cat /etc/resolv.conf',
      /search proof\.svc\.cluster\.local .*\nnameserver 10\.0\.0\.10\noptions ndots:5/,
    ],
    ['the managed hosts file', 'cat /etc/hosts', /\tmail\.sub\.proof\tmail$/],
    ['expanded variables', 'echo $LATE,$GREETING', /^config-proof,hello from \$\(NAME\)$/],
    ['its expanded command', 'cat /data/said', /^config-proof$/],
    ['its working directory', 'pwd', /^\/data$/],
    ['user and groups', 'id', /^uid=1234 gid=2345 groups=.*3456.*4567/],
    ['no new privileges', 'grep NoNewPrivs /proc/1/status', /1$/],
    ['a seccomp filter', 'grep Seccomp: /proc/1/status', /2$/],
    ['exactly its capability', 'grep CapBnd /proc/1/status', /0000000000001000$/],
    ['a read-only root', 'touch /x 2>&1', /Read-only file system/],
    ['a read-only mount', 'touch /fixed/x 2>&1', /Read-only file system/],
    [
      'a masked /proc',
      'cut -d " " -f 5 /proc/self/mountinfo',
      /^\/proc\/(?:keys|kcore|acpi|scsi|timer_list)$/m,
    ],
    ['a read-only /proc/sys', 'grep " /proc/sys " /proc/self/mountinfo', / \/proc\/sys ro,/],
    ['its sysctl', 'cat /proc/sys/net/ipv4/ip_unprivileged_port_start', /^1000$/],
    [
      'its memory limit',
      'cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null',
      /^67108864$/,
    ],
    ['its cpu quota', 'cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max 2>/dev/null', /^50000/],
  ])('has %s', async (_, script, expected) => {
    expect(await run(script)).toMatch(expected);
  });

  test('writes its termination message where the agent reads it', async () => {
    await run('echo bye > /dev/termination-log');
    expect(await readFile(`${folder.path}/last`, 'utf8')).toBe('bye\n');
  });

  test('is found by its owner only', async () => {
    const labelSelector = ownerSelector(owner);
    const { items } = await connection.runtime.listPodSandbox({ filter: { labelSelector } });
    expect(items.map(({ labels }) => parseSandboxLabels(owner, labels)?.podUID)).toEqual([uid]);
    const { containers } = await connection.runtime.listContainers({ filter: { labelSelector } });
    const [found] = containers;
    expect(found && parseContainerLabels(owner, found.labels, found.annotations)).toMatchObject({
      podUID: uid,
      containerName: 'app',
      kind: 'app',
    });
    expect(found && parseContainerLabels(OWNER, found.labels, found.annotations)).toBeUndefined();
  });
});

describe('probes and hooks of a real container', () => {
  const probe = (
    action: Partial<Parameters<ReturnType<typeof createProbeRunner>>[0]['probe']>,
    timeoutMs: number,
  ): Promise<ProbeResult> =>
    createProbeRunner({
      execSync: createExecCalls({ runtime: connection.runtime, clock: systemClock }).execSync,
      userAgent: 'prober/test',
    })({ probe: action, container, containerId, podIP, timeoutMs }, never);

  test('a command that takes too long', async () => {
    const result = await probe({ exec: { command: ['sleep', '60'] } }, 1000);
    expect(result.outcome).toBe('failure');
    expect(result.output).toMatch(/timed out after 1s/);
  });

  test.each([
    ['a command that succeeds', { exec: { command: ['cat', '/data/said'] } }, 'success', /config-proof/],
    ['a command that fails', { exec: { command: ['cat', '/gone'] } }, 'failure', /No such file/],
    ['a response of 404', { httpGet: { path: '/gone', port: 'http' } }, 'failure', /404/],
    ['an open port', { tcpSocket: { port: 'http' } }, 'success', /^$/],
    ['a closed port', { tcpSocket: { port: 81 } }, 'failure', /ECONNREFUSED/],
    ['a server that speaks no gRPC', { grpc: { port: 8080 } }, 'failure', /health rpc/],
  ])('%s', async (_, action, outcome, output) => {
    const result = await probe(action, 20_000);
    expect(result).toMatchObject({ outcome });
    expect(result.output).toMatch(output);
  });

  test('a hook runs in the container', async () => {
    const deps = {
      execSync: createExecCalls({ runtime: connection.runtime, clock: systemClock }).execSync,
      podIP: () => podIP,
      userAgent: 'prober/test',
    };
    const target = { pod, container, containerId };
    await runHandler(deps, { exec: { command: ['sh', '-c', 'echo ready > /data/hook'] } }, target, never);
    expect(await readFile(`${folder.path}/data/hook`, 'utf8')).toBe('ready\n');
    await runHandler(deps, { httpGet: { path: '/', port: 'http' } }, target, never);
    await expect(runHandler(deps, { exec: { command: ['false'] } }, target, never)).rejects.toThrow(
      'exited with 1',
    );
  });
});
