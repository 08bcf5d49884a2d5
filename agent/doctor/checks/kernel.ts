/** Checks of kernel features and settings. */
import type { Finding } from '../finding.ts';
import { createFileSystems } from '../kernel-file-systems.ts';
import type { Machine } from '../machine.ts';

/** Controllers that limit pods. */
const CONTROLLERS: readonly string[] = ['cpu', 'memory', 'pids'];

export async function checkCgroups(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'node', subject: 'cgroups' } as const;
  const unified = await machine.read('/sys/fs/cgroup/cgroup.controllers');
  const present = unified === undefined ? await machine.list('/sys/fs/cgroup') : unified.trim().split(/\s+/);
  const version = unified === undefined ? 'v1' : 'v2';
  if (present.length === 0) return [{ ...base, state: 'broken', detail: 'none at /sys/fs/cgroup' }];
  const missing = CONTROLLERS.filter((controller) => !present.includes(controller));
  const driver = `driver ${machine.settings.cgroupDriver}`;
  if (missing.length > 0) {
    const detail = `${version}, ${driver}, without ${missing.join(', ')}`;
    return [{ ...base, state: 'limited', detail, advice: 'limits of a missing controller have no effect' }];
  }
  return [{ ...base, state: 'ok', detail: `${version}, ${driver}` }];
}

export async function checkSwap(machine: Machine): Promise<readonly Finding[]> {
  const lines = ((await machine.read('/proc/swaps')) ?? '').split('\n').slice(1);
  const swaps = lines.map((line) => line.split(/\s+/)[0] ?? '').filter((name) => name !== '');
  const base = { area: 'node', subject: 'swap' } as const;
  if (swaps.length === 0) return [{ ...base, state: 'ok', detail: 'off' }];
  const advice = 'with swap enabled, memory limits and evictions take effect late';
  return [{ ...base, state: 'limited', detail: `enabled: ${swaps.join(', ')}`, advice }];
}

/** Without overlay, runtimes copy images instead of stacking their layers. */
export async function checkOverlay(machine: Machine): Promise<readonly Finding[]> {
  const support = await (await createFileSystems(machine)).find('overlay');
  const base = { area: 'node', subject: 'overlay' } as const;
  if (support !== 'missing') return [{ ...base, state: 'ok', detail: support }];
  const advice = 'the runtime needs another, slower snapshotter';
  return [{ ...base, state: 'limited', detail: 'not supported by the kernel', advice }];
}

/** Each pod uses a few instances; other programs use more. Source: measured on nodes with 110 pods. */
const FEWEST: Readonly<Record<string, number>> = { max_user_instances: 128, max_user_watches: 8192 };

export async function checkInotify(machine: Machine): Promise<readonly Finding[]> {
  const found = await Promise.all(
    Object.entries(FEWEST).map(async ([name, fewest]) => {
      const value = Number((await machine.read(`/proc/sys/fs/inotify/${name}`)) ?? Number.NaN);
      return { name, value, isLow: value < fewest };
    }),
  );
  const detail = found.map(({ name, value }) => `${name} ${value}`).join(', ');
  const low = found.filter(({ isLow }) => isLow);
  const base = { area: 'node', subject: 'inotify', detail } as const;
  if (low.length === 0) return [{ ...base, state: 'ok' }];
  const settings = low.map(({ name }) => `fs.inotify.${name}=${FEWEST[name]}`);
  return [{ ...base, state: 'limited', advice: `sysctl -w ${settings.join(' ')}` }];
}

/** Year of this code: a clock before it was never set. */
const OLDEST_MS = Date.UTC(2026, 0, 1);

export function createClockCheck(now: () => number): (machine: Machine) => Promise<readonly Finding[]> {
  return async (machine) => {
    const base = { area: 'node', subject: 'clock' } as const;
    const at = new Date(now()).toISOString();
    if (now() < OLDEST_MS) {
      const advice = 'set the clock: certificates and tokens fail validation with a wrong clock';
      return [{ ...base, state: 'limited', detail: `${at} is in the past`, advice }];
    }
    const synchronized = await machine.exists('/run/systemd/timesync/synchronized');
    return [{ ...base, state: 'ok', detail: `${at}${synchronized ? ', synchronized' : ''}` }];
  };
}
