/** Pods on docker: networks, namespaces, logs, outcomes and sessions. */
import { readFile, rename } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CriConnection } from '#cri/client/connection.ts';
import { forwardConnection } from '#cri/streaming/port-forward.ts';
import { execStream } from '#cri/streaming/remote-command.ts';
import { startTestDockerd, type TestDockerd } from '../../../../testing/dockerd.ts';
import { eventually } from '../../../../testing/wait.ts';
import { connectTo, type RuntimeOnDocker } from './docker-runtime.fixture.ts';
import {
  createIn,
  HOST_NETWORK,
  POD_NETWORK,
  removePod,
  runPod,
  startIn,
  statusOf,
  untilExited,
} from './pod.fixture.ts';

let dockerd: TestDockerd;
let runtime: RuntimeOnDocker;
let cri: CriConnection;
let logRoot: string;
const never = new AbortController().signal;

beforeAll(async () => {
  dockerd = await startTestDockerd();
  runtime = await connectTo(dockerd);
  ({ cri } = runtime);
  logRoot = `${dockerd.folder}/logs`;
});

afterAll(async () => {
  await runtime?.[Symbol.asyncDispose]();
  await dockerd?.purge();
});

async function* input(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

const run = async (containerId: string, ...cmd: readonly string[]): Promise<string> => {
  const { stdout } = await cri.runtime.execSync({ containerId, cmd, timeout: 30n });
  return Buffer.from(stdout).toString();
};

describe('sandboxes', () => {
  test('a pod has an address, a hostname, a resolver and sysctls of its own, which its containers share', async () => {
    const pod = await runPod(cri, logRoot, {
      ...POD_NETWORK,
      hostname: 'web-1',
      dnsConfig: { servers: ['10.0.0.10'], searches: ['test.svc'], options: ['ndots:5'] },
      linux: { ...POD_NETWORK.linux, sysctls: { 'net.ipv4.ip_unprivileged_port_start': '80' } },
    });
    const { status } = await cri.runtime.podSandboxStatus({ podSandboxId: pod.podSandboxId });
    expect(status?.network?.ip).toMatch(/^10\.251\.0\.\d+$/);
    const containerId = await startIn(cri, pod, 'sleep 1000');
    expect(await run(containerId, 'hostname')).toBe('web-1\n');
    expect(await run(containerId, 'cat', '/etc/resolv.conf')).toBe(
      'nameserver 10.0.0.10\nsearch test.svc\noptions ndots:5\n',
    );
    expect(await run(containerId, 'cat', '/proc/sys/net/ipv4/ip_unprivileged_port_start')).toBe('80\n');
    expect(await run(containerId, 'ip', '-o', '-4', 'addr', 'show', 'eth0')).toContain(status?.network?.ip);
    await removePod(cri, pod);
  });

  test('port-forward reaches a server that listens on the loopback address of the pod', async () => {
    const pod = await runPod(cri, logRoot, POD_NETWORK);
    const containerId = await startIn(cri, pod, 'exec httpd -f -p 127.0.0.1:8080 -h /etc');
    await eventually(async () => (await run(containerId, 'netstat', '-ltn')).includes(':8080'));
    const { url } = await cri.runtime.portForward({ podSandboxId: pod.podSandboxId, port: [8080] });
    const received: Buffer[] = [];
    await forwardConnection(url, {
      port: 8080,
      source: input('GET /nsswitch.conf HTTP/1.0\r\n\r\n'),
      sink: async (chunk) => void received.push(Buffer.from(chunk)),
      signal: never,
    });
    expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1\.[01] 200 OK[^]*hosts: files dns\n$/);
    const closed = await cri.runtime.portForward({ podSandboxId: pod.podSandboxId, port: [9] });
    const refused = forwardConnection(closed.url, {
      port: 9,
      source: input(),
      sink: async () => undefined,
      signal: never,
    });
    await expect(refused).rejects.toThrow('cannot connect to port 9');
    await removePod(cri, pod);
  });
});

describe('containers', () => {
  test('an option that docker does not support is rejected by its name', async () => {
    const pod = await runPod(cri, logRoot);
    const config = { mounts: [{ hostPath: '/', containerPath: '/x', recursiveReadOnly: true }] };
    await expect(createIn(cri, pod, 'true', config)).rejects.toThrow(
      'mounts[0].recursive_read_only: not supported',
    );
    await removePod(cri, pod);
  });

  test('a missing program fails the start, and the container has ended with StartError', async () => {
    const pod = await runPod(cri, logRoot);
    const containerId = await createIn(cri, pod, '', { command: ['/no/such/program'] });
    await expect(cri.runtime.startContainer({ containerId })).rejects.toThrow('no such file');
    const status = await statusOf(cri, containerId);
    expect(status).toMatchObject({ state: 'CONTAINER_EXITED', reason: 'StartError' });
    expect([127, 128]).toContain(status.exitCode);
    await removePod(cri, pod);
  });

  test('a container over its memory limit has ended with OOMKilled', async () => {
    const pod = await runPod(cri, logRoot);
    const linux = { ...HOST_NETWORK.linux, resources: { memoryLimitInBytes: 16n * 1024n * 1024n } };
    const script = 'a=x; while true; do a=$a$a; done';
    const status = await untilExited(cri, await startIn(cri, pod, script, { linux }));
    expect(status).toMatchObject({ reason: 'OOMKilled', exitCode: 137 });
    await removePod(cri, pod);
  });

  test('capabilities, user, groups, environment and mounts are those of the configuration', async () => {
    const pod = await runPod(cri, logRoot);
    const hostPath = `${dockerd.folder}/mounted/deep`;
    const containerId = await startIn(cri, pod, 'sleep 1000', {
      envs: [{ key: 'A', value: 'b=c d' }],
      mounts: [{ hostPath, containerPath: '/data', readonly: true }],
      linux: {
        securityContext: {
          ...HOST_NETWORK.linux?.securityContext,
          runAsUser: { value: 1000n },
          runAsGroup: { value: 1001n },
          supplementalGroups: [2000n],
          readonlyRootfs: true,
          noNewPrivs: true,
          capabilities: { dropCapabilities: ['ALL'], addCapabilities: ['NET_BIND_SERVICE'] },
        },
      },
    });
    expect(await run(containerId, 'sh', '-c', 'id -u; id -g; id -G; echo "$A"')).toBe(
      '1000\n1001\n1001 2000\nb=c d\n',
    );
    const status = await run(containerId, 'cat', '/proc/1/status');
    expect(status).toMatch(/^CapBnd:\s+0000000000000400$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(await run(containerId, 'sh', '-c', 'touch /x /data/x 2>&1; true')).toMatch(
      /\/x: Read-only file system\n.*\/data\/x: Read-only file system/,
    );
    await removePod(cri, pod);
  });

  test('a command that exceeds its timeout is killed', async () => {
    const pod = await runPod(cri, logRoot);
    const containerId = await startIn(cri, pod, 'sleep 1000');
    const late = cri.runtime.execSync({ containerId, cmd: ['sleep', '777'], timeout: 1n });
    await expect(late).rejects.toMatchObject({ reason: 'DeadlineExceeded' });
    await eventually(async () => !(await run(containerId, 'ps')).includes('sleep 777'));
    const missing = cri.runtime.execSync({ containerId, cmd: ['/no/such/program'], timeout: 10n });
    await expect(missing).rejects.toThrow('no such file');
    await removePod(cri, pod);
  });
});

describe('logs', () => {
  test('a log exists when the start returns, and survives rotation and a new runtime without losing a line', async () => {
    const pod = await runPod(cri, logRoot);
    const script =
      'i=0; while test ! -e /end; do i=$((i+1)); echo $i; test $((i % 50)) != 0 || sleep 0.01; done; echo $i >&2';
    const containerId = await startIn(cri, pod, script);
    const { logPath } = await statusOf(cri, containerId);
    const lines = async (path: string): Promise<readonly string[]> =>
      (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
    await eventually(async () => (await lines(logPath)).length > 100);
    await rename(logPath, `${logPath}.20260101-000000`);
    await cri.runtime.reopenContainerLog({ containerId });
    await runtime[Symbol.asyncDispose]();
    runtime = await connectTo(dockerd);
    ({ cri } = runtime);
    const before = (await lines(logPath)).length;
    await eventually(async () => (await lines(logPath)).length > before + 100);
    await run(containerId, 'touch', '/end');
    await untilExited(cri, containerId);
    const all = [...(await lines(`${logPath}.20260101-000000`)), ...(await lines(logPath))];
    const numbers = all.slice(0, -1).map((line) => / stdout F (\d+)$/.exec(line)?.[1]);
    expect(numbers).toEqual(numbers.map((_, index) => String(index + 1)));
    expect(all.at(-1)).toMatch(new RegExp(` stderr F ${numbers.length}$`));
    await removePod(cri, pod);
  });
});

describe('sessions', () => {
  test('exec passes input, both outputs and the exit code', async () => {
    const pod = await runPod(cri, logRoot);
    const containerId = await startIn(cri, pod, 'sleep 1000');
    const cmd = ['sh', '-c', 'cat; echo problem >&2; exit 3'];
    const { url } = await cri.runtime.exec({ containerId, cmd, stdin: true, stdout: true, stderr: true });
    const outputs = { stdout: '', stderr: '' };
    const { exitCode } = await execStream(url, {
      tty: false,
      stdin: input('one\n', 'two\n'),
      stdout: (chunk) => void (outputs.stdout += Buffer.from(chunk).toString()),
      stderr: (chunk) => void (outputs.stderr += Buffer.from(chunk).toString()),
      signal: never,
    });
    expect({ exitCode, ...outputs }).toEqual({ exitCode: 3, stdout: 'one\ntwo\n', stderr: 'problem\n' });
    const used = execStream(url, { tty: false, signal: never });
    await expect(used).rejects.toThrow('unknown or expired session');
    await removePod(cri, pod);
  });

  test('exec with a terminal has its size', async () => {
    const pod = await runPod(cri, logRoot);
    const containerId = await startIn(cri, pod, 'sleep 1000');
    const cmd = [
      'sh',
      '-c',
      'until stty size 2>/dev/null | grep -q "31 77"; do sleep 0.01; done; echo sized',
    ];
    const { url } = await cri.runtime.exec({ containerId, cmd, tty: true, stdout: true });
    async function* resize(): AsyncGenerator<{ readonly width: number; readonly height: number }> {
      yield { width: 77, height: 31 };
    }
    let output = '';
    const stdout = (chunk: Uint8Array): void => void (output += Buffer.from(chunk).toString());
    await execStream(url, { tty: true, resize: resize(), stdout, signal: never });
    expect(output).toBe('sized\r\n');
    await removePod(cri, pod);
  });

  test('attach receives the output of a container and sends its input', async () => {
    const pod = await runPod(cri, logRoot);
    const containerId = await startIn(cri, pod, 'while read -r text; do echo "got $text"; done', {
      stdin: true,
      stdinOnce: true,
    });
    const { url } = await cri.runtime.attach({ containerId, stdin: true, stdout: true, stderr: true });
    let output = '';
    await execStream(url, {
      tty: false,
      stdin: input('it\n'),
      stdout: (chunk) => void (output += Buffer.from(chunk).toString()),
      stderr: () => undefined,
      signal: never,
    });
    expect(output).toBe('got it\n');
    expect((await untilExited(cri, containerId)).exitCode).toBe(0);
    await removePod(cri, pod);
  });
});
