/** What a node needs for devices of plugins, for huge pages, and for shutdowns that wait for pods. */
import { join } from 'node:path';
import type { Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';

/** Bytes of a unix socket's path. @see https://man7.org/linux/man-pages/man7/unix.7.html */
const LONGEST_SOCKET = 107;
const FOLDER = 'device-plugins';
/** As long as a name of a plugin's socket usually is. */
const USUAL_NAME = 24;

export async function checkDevicePlugins(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'node', subject: 'device plugins' } as const;
  const folder = join(machine.settings.rootDir, FOLDER);
  if (folder.length + USUAL_NAME > LONGEST_SOCKET) {
    const advice = 'use a shorter --root-dir: sockets of plugins can not have paths as long';
    return [{ ...base, state: 'limited', detail: `${folder} is too long`, advice }];
  }
  const sockets = (await machine.list(folder)).filter((name) => name.endsWith('.sock'));
  if (sockets.length === 0) return [{ ...base, state: 'ok', detail: `none yet; they register in ${folder}` }];
  return [{ ...base, state: 'ok', detail: `sockets in ${folder}: ${sockets.toSorted().join(', ')}` }];
}

const HUGE_PAGES = '/sys/kernel/mm/hugepages';
const KIBI_PER_MEBI = 1024;

export async function checkHugePages(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'node', subject: 'huge pages' } as const;
  const names = await machine.list(HUGE_PAGES);
  if (names.length === 0) return [{ ...base, state: 'ok', detail: 'the kernel has none' }];
  const found = await Promise.all(
    names.map(async (name) => ({
      mebibytes: Number(/\d+/.exec(name)?.[0] ?? 0) / KIBI_PER_MEBI,
      count: Number((await machine.read(`${HUGE_PAGES}/${name}/nr_hugepages`)) ?? 0),
    })),
  );
  const sizes = found.toSorted((a, b) => a.mebibytes - b.mebibytes);
  const detail = sizes.map(({ mebibytes, count }) => `${count} of ${mebibytes}Mi`).join(', ');
  const unified = await machine.read('/sys/fs/cgroup/cgroup.controllers');
  const controllers =
    unified === undefined ? await machine.list('/sys/fs/cgroup') : unified.trim().split(/\s+/);
  const limited = controllers.includes('hugetlb') || sizes.every(({ count }) => count === 0);
  if (limited) return [{ ...base, state: 'ok', detail }];
  const advice = 'without the cgroup controller hugetlb, a pod may take the pages of others';
  return [{ ...base, state: 'limited', detail, advice }];
}

const BUS = '/run/dbus/system_bus_socket';

export async function checkShutdown(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'node', subject: 'shutdown' } as const;
  const advice = 'shutdownGracePeriod does nothing here: pods end with the machine';
  if (!(await machine.exists(BUS)))
    return [{ ...base, state: 'limited', detail: `no bus at ${BUS}`, advice }];
  if (!(await machine.hasProgram('systemd-inhibit'))) {
    return [{ ...base, state: 'limited', detail: 'no program systemd-inhibit', advice }];
  }
  return [{ ...base, state: 'ok', detail: 'can be held up for pods, by shutdownGracePeriod' }];
}
