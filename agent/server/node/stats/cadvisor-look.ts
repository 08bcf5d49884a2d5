/** Gathers what `/metrics/cadvisor` shows: the summary's numbers, and the kernel's own of each cgroup. */
import { dirname } from 'node:path/posix';
import type { Clock } from '#api/kit/clock.ts';
import { parseTime } from '#api/meta/time.ts';
import type { ContainerStats, FsStats, PodStats, Summary } from '#api/schema/gen/stats-v1alpha1.ts';
import type { ObservedContainer, ObservedSandbox } from '../../../observe/types.ts';
import {
  type CadvisorLabels,
  type CadvisorLook,
  cadvisorMetrics,
  type Subject,
  usageOfStats,
} from './cadvisor.ts';
import type { Cgroups } from './cgroups/cgroups.ts';
import type { CgroupPlace } from './cgroups/places.ts';
import type { CgroupUsage } from './cgroups/usage.ts';
import type { PodNetworks } from './pod-network.ts';
import { parseMeminfo, parseNetDev } from './proc.ts';
import type { CollectSummary } from './summary.ts';

export interface CadvisorDeps {
  readonly collect: CollectSummary;
  readonly containers: () => readonly ObservedContainer[];
  readonly sandboxes: () => readonly ObservedSandbox[];
  readonly networks: Pick<PodNetworks, 'of'>;
  readonly cgroups: Pick<Cgroups, 'ofContainer'>;
  readonly usageOf: (place: CgroupPlace) => Promise<CgroupUsage>;
  readonly readProc: (path: string) => Promise<string>;
  /** `<major>:<minor>` of the device that a path lies on. */
  readonly deviceOf: (path: string) => Promise<string>;
  readonly clock: Clock;
}

export interface CadvisorOptions {
  readonly rootDir: string;
  readonly cores: number;
  readonly version: CadvisorLook['version'];
}

/** Of what is no container. */
const labelsOf = (id: string, namespace = '', pod = ''): CadvisorLabels => ({
  container: '',
  id,
  image: '',
  name: '',
  namespace,
  pod,
});

/** The cgroup around a container's, if it is the pod's. */
function podPlace(place: CgroupPlace, podUID: string): CgroupPlace | undefined {
  const path = dirname(place.path);
  if (!path.includes(podUID) && !path.includes(podUID.replaceAll('-', '_'))) return undefined;
  if (place.version === 2) return { ...place, path, folder: dirname(place.folder) };
  const folders = Object.fromEntries(
    Object.entries(place.folders).map(([kind, folder]) => [kind, dirname(folder)]),
  );
  return { ...place, path, folders };
}

function createDeviceNames(
  readProc: CadvisorDeps['readProc'],
): (devices: Iterable<string>) => Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  return async (devices) => {
    for (const device of new Set(devices)) {
      if (names.has(device)) continue;
      const text = await readProc(`/sys/dev/block/${device}/uevent`).catch(() => '');
      const name = /^DEVNAME=(.+)$/m.exec(text)?.[1];
      names.set(device, name === undefined ? device : `/dev/${name}`);
    }
    return names;
  };
}

interface PodLook {
  readonly pod: PodStats;
  readonly device: string;
}

async function containerSubject(
  { cgroups, usageOf }: CadvisorDeps,
  { pod, device }: PodLook,
  stats: ContainerStats,
  observed: ObservedContainer,
): Promise<{ readonly subject: Subject; readonly place: CgroupPlace | undefined }> {
  const place = await cgroups.ofContainer(observed.id);
  const { namespace, name } = pod.podRef;
  const labels = {
    container: stats.name,
    id: place?.path ?? `/${observed.id}`,
    image: observed.image,
    name: observed.id,
    namespace,
    pod: name,
  };
  const usage = place === undefined ? usageOfStats(stats) : await usageOf(place);
  const fs = stats.rootfs === undefined ? undefined : { device, stats: stats.rootfs };
  return { subject: { labels, usage, startMs: parseTime(stats.startTime), fs }, place };
}

async function podSubjects(deps: CadvisorDeps, look: PodLook): Promise<readonly Subject[]> {
  const { podRef, containers, startTime } = look.pod;
  const running = deps
    .containers()
    .filter(({ podUID, state }) => podUID === podRef.uid && state === 'running');
  const subjects: Subject[] = [];
  let around: CgroupPlace | undefined;
  for (const stats of containers) {
    const observed = running.find(({ name }) => name === stats.name);
    if (observed === undefined) continue;
    const { subject, place } = await containerSubject(deps, look, stats, observed);
    subjects.push(subject);
    if (place !== undefined) around ??= podPlace(place, podRef.uid);
  }
  const sandbox = deps.sandboxes().find(({ podUID, ready }) => ready && podUID === podRef.uid);
  const interfaces = sandbox === undefined ? undefined : await deps.networks.of(sandbox.id);
  const labels = labelsOf(around?.path ?? `/${podRef.uid}`, podRef.namespace, podRef.name);
  const usage = around === undefined ? { cpu: {}, memory: {}, io: [] } : await deps.usageOf(around);
  return [{ labels, usage, startMs: parseTime(startTime), interfaces }, ...subjects];
}

async function machineSubject(deps: CadvisorDeps, { node }: Summary, device: string): Promise<Subject> {
  const interfaces = parseNetDev(await deps.readProc('/proc/net/dev'));
  const fs: FsStats | undefined = node.fs;
  return {
    labels: labelsOf('/'),
    usage: usageOfStats(node, node.rlimit?.curproc),
    startMs: parseTime(node.startTime),
    interfaces,
    ...(fs === undefined ? {} : { fs: { device, stats: fs } }),
  };
}

/** The text for scrapers. */
export function createCadvisor(deps: CadvisorDeps, options: CadvisorOptions): () => Promise<string> {
  const namesOf = createDeviceNames(deps.readProc);
  return async () => {
    const summary = await deps.collect('totals');
    const device = await deps.deviceOf(options.rootDir);
    const root = (await namesOf([device])).get(device) ?? device;
    const subjects = [await machineSubject(deps, summary, root)];
    // One pod after the other: nobody waits for this with impatience.
    for (const pod of summary.pods) subjects.push(...(await podSubjects(deps, { pod, device: root })));
    const names = await namesOf(subjects.flatMap(({ usage }) => usage.io.map((each) => each.device)));
    const memory = parseMeminfo(await deps.readProc('/proc/meminfo'));
    return cadvisorMetrics({
      nowMs: deps.clock.now(),
      subjects,
      deviceName: (each) => names.get(each) ?? each,
      machine: { cores: options.cores, memoryBytes: memory.totalBytes, swapBytes: memory.swapBytes },
      version: options.version,
    });
  };
}
