/** Checks for device plugins, huge pages and graceful node shutdown. */
import { join } from 'node:path';
import type { Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';

/** Maximum path length of a unix socket in bytes. @see https://man7.org/linux/man-pages/man7/unix.7.html */
const LONGEST_SOCKET = 107;
const FOLDER = 'device-plugins';
/** Typical length of the socket name of a plugin. */
const USUAL_NAME = 24;

export async function checkDevicePlugins(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'node', subject: 'device plugins' } as const;
  const folder = join(machine.settings.rootDir, FOLDER);
  if (folder.length + USUAL_NAME > LONGEST_SOCKET) {
    const advice = 'use a shorter --root-dir: the socket paths of plugins are too long';
    return [{ ...base, state: 'limited', detail: `${folder} is too long`, advice }];
  }
  const sockets = (await machine.list(folder)).filter((name) => name.endsWith('.sock'));
  if (sockets.length === 0)
    return [{ ...base, state: 'ok', detail: `none yet; device plugins register in ${folder}` }];
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
  const advice = 'without the cgroup controller hugetlb, huge pages of pods are not limited';
  return [{ ...base, state: 'limited', detail, advice }];
}

const BUS = '/run/dbus/system_bus_socket';

export async function checkShutdown(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'node', subject: 'shutdown' } as const;
  const advice =
    'shutdownGracePeriod has no effect on this machine: pods are not stopped before it shuts down';
  if (!(await machine.exists(BUS)))
    return [{ ...base, state: 'limited', detail: `no D-Bus socket at ${BUS}`, advice }];
  if (!(await machine.hasProgram('systemd-inhibit'))) {
    return [{ ...base, state: 'limited', detail: 'no program systemd-inhibit', advice }];
  }
  return [{ ...base, state: 'ok', detail: 'can be delayed for pods with shutdownGracePeriod' }];
}
