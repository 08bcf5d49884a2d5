import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { createMounter } from '../mount/mounter.ts';
import { createRunProgram } from '../programs/run-program.ts';
import { unmountFromServer } from './unmount-from-server.ts';

it('detaches real mounts, including stacked ones', async () => {
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
  await unmountFromServer(services, dir);
  expect(await readdir(dir)).toEqual([]);
  const mounts = await services.mounter.list();
  expect(mounts.filter(({ mountPoint }) => mountPoint === dir)).toEqual([]);
  await unmountFromServer(services, dir);
});
