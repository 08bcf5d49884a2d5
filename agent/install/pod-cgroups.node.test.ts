/** On the cgroups of the machine, below one of the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { createTempDir } from '../../testing/temp.ts';
import { removePodCgroups } from './pod-cgroups.ts';

const MOUNT_ROOT = '/sys/fs/cgroup';

/** Hierarchies in which cgroups can be created; a single one with version 2. */
async function hierarchies(): Promise<readonly string[]> {
  const isUnified = await stat(join(MOUNT_ROOT, 'cgroup.controllers')).then(
    () => true,
    () => false,
  );
  if (isUnified) return [MOUNT_ROOT];
  const names = await readdir(MOUNT_ROOT);
  return ['memory', 'cpu', 'pids']
    .filter((name) => names.includes(name))
    .map((name) => join(MOUNT_ROOT, name));
}

async function world(last: string) {
  const folder = await createTempDir('na-unc-');
  const path = `/na-unc-${process.pid}${last}`;
  const [note, said, calls] = [join(folder.path, 'note'), new Array<string>(), new Array<string>()];
  await writeFile(note, `${path}\n`);
  const places = (await hierarchies()).map((root) => join(root, path));
  for (const place of places) await mkdir(join(place, 'burstable', 'pod1'), { recursive: true });
  const deps = {
    systemctl: async (args: readonly string[]) => void calls.push(args.join(' ')),
    say: (text: string) => void said.push(text),
  };
  return {
    path,
    places,
    said,
    calls,
    remove: () => removePodCgroups(deps, { note }),
    left: async () => {
      const found = await Promise.all(places.map((place) => readdir(place).catch(() => undefined)));
      return found.filter((one) => one !== undefined).length;
    },
    async [Symbol.asyncDispose]() {
      await removeCgroupTree(path);
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('empty cgroups are removed, in every hierarchy', async () => {
  await using made = await world('');
  expect(await made.left()).toBe(made.places.length);
  await made.remove();
  expect([await made.left(), made.said, made.calls]).toEqual([0, [], []]);
});

test('systemd slices are stopped', async () => {
  await using made = await world('.slice');
  await made.remove();
  expect([await made.left(), made.calls]).toEqual([0, [`stop na-unc-${process.pid}.slice`]]);
});

test('nothing is removed while a process remains, which is reported', async () => {
  await using made = await world('b');
  const child = spawn('sleep', ['1000']);
  try {
    await writeFile(join(made.places[0] ?? '', 'burstable', 'pod1', 'cgroup.procs'), String(child.pid));
    await made.remove();
    expect(await made.left()).toBe(made.places.length);
    expect(made.said).toEqual([`processes remain in cgroup ${made.path}; it was not removed`]);
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
});

test.each(['', '/', '/../x', 'x', '/a/../b'])('a note %j leads nowhere', async (text) => {
  await using folder = await createTempDir('na-unc-');
  await writeFile(join(folder.path, 'note'), text);
  await mkdir(join(folder.path, 'memory', 'x'), { recursive: true });
  const deps = { systemctl: async () => undefined, say: () => undefined };
  await removePodCgroups(deps, { note: join(folder.path, 'note'), mountRoot: folder.path });
  expect(await readdir(join(folder.path, 'memory'))).toEqual(['x']);
});
