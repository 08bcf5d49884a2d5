/** Security contexts, seen from inside the container. */
import { mkdir, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import type { SecurityContext } from '#api/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { isWaiting, pod, sh, statusOf, useHarness, WAIT } from './support.ts';

describe.concurrent('securityContext', () => {
  const harness = useHarness();
  beforeAll(async () => {
    await mkdir(`${harness.agent.root}/seccomp/profiles`, { recursive: true });
    const profile = {
      defaultAction: 'SCMP_ACT_ALLOW',
      architectures: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_AARCH64'],
      syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }],
    };
    await writeFile(`${harness.agent.root}/seccomp/profiles/no-mkdir.json`, JSON.stringify(profile));
  });

  const status = (field: string): string => `grep ^${field}: /proc/self/status | tr -d '\\t'`;
  const secure = (name: string, securityContext: SecurityContext) => sh(name, WAIT, { securityContext });

  test('users and groups: the container over the pod, supplemental groups in all', async () => {
    await harness.agent.put(
      'ids.json',
      pod('ids', {
        securityContext: { runAsUser: 1000, runAsGroup: 2000, supplementalGroups: [4000], fsGroup: 3000 },
        containers: [
          sh('pods', WAIT),
          secure('own', { runAsUser: 1001, runAsGroup: 2001, runAsNonRoot: true }),
        ],
      }),
    );
    const found = await harness.agent.waitFor('ids', isReady);
    expect(await harness.exec(found, 'pods', 'echo $(id -u) $(id -g) $(id -G)')).toBe(
      '1000 2000 2000 3000 4000\n',
    );
    expect(await harness.exec(found, 'own', 'echo $(id -u) $(id -g) $(id -G)')).toBe(
      '1001 2001 2001 3000 4000\n',
    );
  });

  test('runAsNonRoot rejects root, wherever the user comes from', async () => {
    await harness.agent.put(
      'root.json',
      pod('root', {
        containers: [
          secure('image', { runAsNonRoot: true }),
          secure('explicit', { runAsNonRoot: true, runAsUser: 0 }),
          secure('fine', { runAsNonRoot: true, runAsUser: 5 }),
        ],
      }),
    );
    const found = await harness.agent.waitFor('root', (p) =>
      ['image', 'explicit'].every((name) => isWaiting(name, 'CreateContainerConfigError')(p)),
    );
    expect(statusOf(found, 'image')?.state?.waiting?.message).toMatch(/runAsNonRoot/);
    expect(statusOf(found, 'explicit')?.state?.waiting?.message).toMatch(/runAsNonRoot/);
    await harness.agent.waitFor('root', (p) => statusOf(p, 'fine')?.state?.running !== undefined);
  });

  test('capabilities are added and dropped; privileged has them all and sees the devices', async () => {
    await harness.agent.put(
      'caps.json',
      pod('caps', {
        containers: [
          secure('none', { capabilities: { drop: ['ALL'] } }),
          secure('one', { capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } }),
          secure('all', { privileged: true }),
          sh('usual', WAIT),
        ],
      }),
    );
    const found = await harness.agent.waitFor('caps', isReady);
    const caps = async (name: string) =>
      BigInt(`0x${(await harness.exec(found, name, status('CapEff'))).trim().split(':')[1]}`);
    expect(await caps('none')).toBe(0n);
    expect(await caps('one')).toBe(1n << 12n);
    expect(await caps('all')).toBeGreaterThan(await caps('usual'));
    expect(await harness.exec(found, 'all', 'ls /dev | wc -l')).not.toBe(
      await harness.exec(found, 'usual', 'ls /dev | wc -l'),
    );
  });

  test('readOnlyRootFilesystem and allowPrivilegeEscalation', async () => {
    await harness.agent.put(
      'locked.json',
      pod('locked', {
        containers: [
          secure('locked', { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false }),
          sh('open', WAIT),
        ],
      }),
    );
    const found = await harness.agent.waitFor('locked', isReady);
    await expect(harness.exec(found, 'locked', 'touch /x')).rejects.toThrow(/Read-only file system/);
    expect(await harness.exec(found, 'locked', status('NoNewPrivs'))).toBe('NoNewPrivs:1\n');
    expect(await harness.exec(found, 'open', `touch /x; ${status('NoNewPrivs')}`)).toBe('NoNewPrivs:0\n');
  });

  test('seccomp: none, the runtime default and a local profile that bites', async () => {
    await harness.agent.put(
      'seccomp.json',
      pod('seccomp', {
        containers: [
          sh('none', WAIT),
          secure('default', { seccompProfile: { type: 'RuntimeDefault' } }),
          secure('local', {
            seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/no-mkdir.json' },
          }),
        ],
      }),
    );
    const found = await harness.agent.waitFor('seccomp', isReady);
    expect(await harness.exec(found, 'none', status('Seccomp'))).toBe('Seccomp:0\n');
    expect(await harness.exec(found, 'default', status('Seccomp'))).toBe('Seccomp:2\n');
    expect(await harness.exec(found, 'local', status('Seccomp'))).toBe('Seccomp:2\n');
    await expect(harness.exec(found, 'local', 'mkdir /tmp/x')).rejects.toThrow(/not permitted/);
    expect(await harness.exec(found, 'default', 'mkdir /tmp/x && echo made')).toBe('made\n');
  });

  test('a missing local seccomp profile prevents the container from starting', async () => {
    await harness.agent.put(
      'noprofile.json',
      pod('noprofile', {
        containers: [
          secure('c', { seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/none.json' } }),
        ],
      }),
    );
    const found = await harness.agent.waitFor('noprofile', (p) =>
      /^(?:Create|Run)Container/.test(statusOf(p, 'c')?.state?.waiting?.reason ?? ''),
    );
    expect(statusOf(found, 'c')?.state?.waiting?.message).toMatch(/none\.json/);
  });

  test('procMount: the settings under /proc are read-only', async () => {
    await harness.agent.put('proc.json', pod('proc', { containers: [sh('c', WAIT)] }));
    const found = await harness.agent.waitFor('proc', isReady);
    expect(await harness.exec(found, 'c', 'grep -c " /proc/sys .*ro," /proc/mounts')).toBe('1\n');
  });
});
