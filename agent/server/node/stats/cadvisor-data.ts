/** Collects the data of `/metrics/cadvisor`: the summary, and the kernel statistics of each cgroup. */
import { dirname } from 'node:path/posix';
import type { ContainerStats, FsStats, PodStats, Summary } from '#api/gen/stats-v1alpha1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { parseTime } from '#api/meta/time.ts';
import type { ObservedContainer, ObservedSandbox } from '../../../observe/types.ts';
import {
  type CadvisorData,
  type CadvisorLabels,
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
  /** Returns `<major>:<minor>` of the device of a path. */
  readonly deviceOf: (path: string) => Promise<string>;
  readonly clock: Clock;
}

export interface CadvisorOptions {
  readonly rootDir: string;
  readonly cores: number;
  readonly version: CadvisorData['version'];
}

/** Labels of cgroups that are not containers. */
const labelsOf = (id: string, namespace = '', pod = ''): CadvisorLabels => ({
  container: '',
  id,
  image: '',
  name: '',
  namespace,
  pod,
});

/** Returns the parent of a container cgroup, if it belongs to the pod. */
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

interface PodInput {
  readonly pod: PodStats;
  readonly device: string;
}

async function containerSubject(
  { cgroups, usageOf }: CadvisorDeps,
  { pod, device }: PodInput,
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

async function podSubjects(deps: CadvisorDeps, input: PodInput): Promise<readonly Subject[]> {
  const { podRef, containers, startTime } = input.pod;
  const running = deps
    .containers()
    .filter(({ podUID, state }) => podUID === podRef.uid && state === 'running');
  const subjects: Subject[] = [];
  let around: CgroupPlace | undefined;
  for (const stats of containers) {
    const observed = running.find(({ name }) => name === stats.name);
    if (observed === undefined) continue;
    const { subject, place } = await containerSubject(deps, input, stats, observed);
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
  const processes = node.rlimit?.curproc;
  return {
    labels: labelsOf('/'),
    usage: usageOfStats(node, processes === undefined ? undefined : Number(processes)),
    startMs: parseTime(node.startTime),
    interfaces,
    ...(fs === undefined ? {} : { fs: { device, stats: fs } }),
  };
}

/** Returns the text for scrapers. */
export function createCadvisor(deps: CadvisorDeps, options: CadvisorOptions): () => Promise<string> {
  const namesOf = createDeviceNames(deps.readProc);
  return async () => {
    const summary = await deps.collect('totals');
    const device = await deps.deviceOf(options.rootDir);
    const root = (await namesOf([device])).get(device) ?? device;
    const subjects = [await machineSubject(deps, summary, root)];
    // One pod at a time: scrapes are not urgent.
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
