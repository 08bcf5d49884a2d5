import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { createMounter } from '../mounter.ts';
import { createRunProgram } from '../programs/run-program.ts';
import { leaveServer } from './leave-server.ts';

it('takes real mounts away, all that lie over each other', async () => {
  await using base = await createTempDir();
  const services = { mounter: createMounter(), run: createRunProgram() };
  const dir = join(base.path, 'data');
  await mkdir(dir);
  const mount = async (): Promise<void> => {
    const { signal } = new AbortController();
    const { code } = await services.run('mount', ['-t', 'tmpfs', 'test', dir], { signal, timeoutMs: 10_000 });
    expect(code).toBe(0);
  };
  await mount();
  await mount();
  await leaveServer(services, dir);
  expect(await readdir(dir)).toEqual([]);
  const mounts = await services.mounter.list();
  expect(mounts.filter(({ mountPoint }) => mountPoint === dir)).toEqual([]);
  await leaveServer(services, dir);
});
