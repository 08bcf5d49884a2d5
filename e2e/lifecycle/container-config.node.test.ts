/** Environment, command, working directory, terminal, resources and termination message, seen from inside. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import {
  configMap,
  containerId,
  hasEnded,
  hasPhase,
  IMAGE,
  isWaiting,
  pod,
  secret,
  sh,
  statusOf,
  useHarness,
  WAIT,
} from './support.ts';

describe.concurrent('container configuration', () => {
  const harness = useHarness();

  test('env from every source, expanded in order, with command and args', async () => {
    await harness.agent.put(
      'env-cm.json',
      configMap('env', { level: 'high', '1st': 'x', GREETING: 'hello' }),
    );
    await harness.agent.put('env-s.json', secret('env', { token: 's3cret' }));
    await harness.agent.put(
      'env.json',
      pod(
        'env',
        {
          restartPolicy: 'Never',
          serviceAccountName: 'worker',
          containers: [
            {
              name: 'c',
              image: IMAGE,
              command: ['sh', '-c', 'env; echo "args=$1"; echo "dir=$(pwd)"', '--'],
              args: ['$(BOTH) $$(BOTH) $(UNKNOWN)'],
              workingDir: '/srv',
              resources: { limits: { cpu: '1500m', memory: '64Mi' }, requests: { memory: '32Mi' } },
              envFrom: [
                { configMapRef: { name: 'env' } },
                { prefix: 'S_', secretRef: { name: 'env' } },
                { configMapRef: { name: 'nowhere', optional: true } },
              ],
              env: [
                { name: 'GREETING', value: 'hi' },
                { name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'env', key: 'level' } } },
                { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'env', key: 'token' } } },
                { name: 'GONE', valueFrom: { secretKeyRef: { name: 'env', key: 'gone', optional: true } } },
                { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
                { name: 'TIER', valueFrom: { fieldRef: { fieldPath: "metadata.labels['tier']" } } },
                { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
                { name: 'ACCOUNT', valueFrom: { fieldRef: { fieldPath: 'spec.serviceAccountName' } } },
                { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
                { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
                {
                  name: 'MEM',
                  valueFrom: { resourceFieldRef: { resource: 'requests.memory', divisor: '1Mi' } },
                },
                { name: 'BOTH', value: '$(GREETING) $(TIER) $(LATER)' },
                { name: 'LATER', value: 'late' },
              ],
            },
          ],
        },
        { labels: { tier: 'front' } },
      ),
    );
    const found = await harness.agent.waitFor('env', hasEnded('c'));
    const text = await harness.logs('env', 'c', /dir=/);
    const lines = text.trim().split('\n');
    const ip = found.status?.podIP ?? 'none';
    const expected = `GREETING=hi level=high S_token=s3cret LEVEL=high TOKEN=s3cret POD=env-n1 TIER=front NODE=n1
      ACCOUNT=worker IP=${ip} CPU=2 MEM=32 LATER=late dir=/srv`;
    for (const line of [
      ...expected.split(/\s+/),
      'BOTH=hi front $(LATER)',
      'args=hi front $(LATER) $(BOTH) $(UNKNOWN)',
    ]) {
      expect(lines).toContain(line);
    }
    expect(text).not.toMatch(/^GONE=/m);
    expect(text).not.toContain('1st');
    await harness.event('env', 'InvalidEnvironmentVariableNames', /\b1st\b/);
  });

  test('a missing ConfigMap holds the container until it appears', async () => {
    const envFrom = [{ configMapRef: { name: 'wanted' } }];
    await harness.agent.put(
      'wants.json',
      pod('wants', { containers: [sh('c', `echo $KEY; ${WAIT}`, { envFrom })] }),
    );
    const found = await harness.agent.waitFor('wants', isWaiting('c', 'CreateContainerConfigError'));
    expect(statusOf(found, 'c')?.state?.waiting?.message).toBe('ConfigMap default/wanted was not found');
    expect(found.status?.phase).toBe('Pending');
    const startMs = Date.now();
    await harness.agent.put('wanted.json', configMap('wanted', { KEY: 'here' }));
    await harness.agent.waitFor('wants', isReady);
    // The time of the retry; the duration of a start depends on the runtime.
    expect((await harness.imageLookedForAtMs('wants')) - startMs).toBeLessThan(5_000);
    expect(await harness.logs('wants', 'c')).toBe('here\n');
  });

  test('tty and stdin reach the container', async () => {
    await harness.agent.put(
      'tty.json',
      pod('tty', {
        containers: [
          sh('tty', `tty; ${WAIT}`, { tty: true, stdin: true }),
          sh('none', `readlink /proc/self/fd/0; ${WAIT}`),
          sh('stdin', `readlink /proc/self/fd/0; cat; ${WAIT}`, { stdin: true }),
        ],
      }),
    );
    await harness.agent.waitFor('tty', isReady);
    expect(await harness.logs('tty', 'tty')).toMatch(/^\/dev\/(?:pts|console)/);
    expect(await harness.logs('tty', 'none')).toBe('/dev/null\n');
    expect(await harness.logs('tty', 'stdin')).toMatch(/^pipe:/);
  });

  /** A value of the container's cgroup on the host, by controller and file of cgroup v1. */
  async function cgroup(found: Pod, name: string, controller: string, file: string): Promise<string> {
    const { info } = await harness.cri.runtime.containerStatus({
      containerId: containerId(found, name),
      verbose: true,
    });
    const { pid } = JSON.parse(info['info'] ?? '{}') as { pid: number };
    const lines = (await readFile(`/proc/${pid}/cgroup`, 'utf8')).split('\n');
    const path = lines.find((line) => line.split(':')[1]?.split(',').includes(controller))?.split(':')[2];
    return (await readFile(`/sys/fs/cgroup/${controller}${path}/${file}`, 'utf8')).trim();
  }

  test('resources become shares, quota, memory limit and OOM score', async () => {
    await harness.agent.put(
      'resources.json',
      pod('resources', {
        containers: [
          sh('c', WAIT, {
            resources: { requests: { cpu: '250m', memory: '16Mi' }, limits: { cpu: '500m', memory: '32Mi' } },
          }),
          sh('besteffort', WAIT),
        ],
      }),
    );
    const found = await harness.agent.waitFor('resources', isReady);
    expect(found.status?.qosClass).toBe('Burstable');
    expect(await cgroup(found, 'c', 'cpu', 'cpu.shares')).toBe('256');
    expect(await cgroup(found, 'c', 'cpu', 'cpu.cfs_quota_us')).toBe('50000');
    expect(await cgroup(found, 'c', 'cpu', 'cpu.cfs_period_us')).toBe('100000');
    expect(await cgroup(found, 'c', 'memory', 'memory.limit_in_bytes')).toBe(String(32 * 1024 * 1024));
    expect(await cgroup(found, 'besteffort', 'cpu', 'cpu.shares')).toBe('2');
    expect(await cgroup(found, 'besteffort', 'cpu', 'cpu.cfs_quota_us')).toBe('-1');
    expect(Number(await harness.exec(found, 'c', 'cat /proc/1/oom_score_adj'))).toBeGreaterThan(900);
  });

  test('a container that uses too much memory is OOMKilled', async () => {
    await harness.agent.put(
      'oom.json',
      pod('oom', {
        restartPolicy: 'Never',
        containers: [
          sh('c', 'tail /dev/zero', {
            command: ['tail', '/dev/zero'],
            resources: { limits: { memory: '16Mi' } },
          }),
        ],
      }),
    );
    // On a busy machine the runtime may report the exit before its reason.
    const isTold = (found: Pod): boolean => statusOf(found, 'c')?.state?.terminated?.reason === 'OOMKilled';
    const found = await harness.agent.waitFor('oom', (seen) => hasPhase('Failed')(seen) && isTold(seen));
    expect(statusOf(found, 'c')?.state?.terminated).toMatchObject({ exitCode: 137 });
  });

  test('termination message: from the file, from the log after a failure, and only then', async () => {
    await harness.agent.put(
      'words.json',
      pod('words', {
        restartPolicy: 'Never',
        containers: [
          sh('file', 'printf said > /dev/termination-log; exit 1'),
          sh('path', 'printf elsewhere > /tmp/words; exit 0', { terminationMessagePath: '/tmp/words' }),
          sh('logs', 'echo line 1; echo line 2; exit 1', {
            terminationMessagePolicy: 'FallbackToLogsOnError',
          }),
          sh('well', 'echo fine; exit 0', { terminationMessagePolicy: 'FallbackToLogsOnError' }),
        ],
      }),
    );
    const message = (found: Pod, name: string) => statusOf(found, name)?.state?.terminated?.message;
    const found = await harness.agent.waitFor(
      'words',
      (seen) => ['file', 'path', 'logs'].every((name) => message(seen, name)) && hasEnded('well')(seen),
    );
    expect(message(found, 'file')).toBe('said');
    expect(message(found, 'path')).toBe('elsewhere');
    expect(message(found, 'logs')).toBe('line 1\nline 2\n');
    expect(message(found, 'well')).toBeUndefined();
  });
});
