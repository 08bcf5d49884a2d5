/** Wires the watcher of OOM kills. */
import type { CgroupMaker } from '../../cgroups/cgroupfs-driver.ts';
import { type KernelLog, openKernelLog } from '../../cgroups/oom/kernel-log.ts';
import { createOomWatcher } from '../../cgroups/oom/watcher.ts';
import type { PodCgroups } from '../../cgroups/pod-cgroups.ts';
import type { RuntimeView } from '../../observe/runtime-view.ts';
import type { PodEvent } from '../../pods/pod-event.ts';
import type { PodManager } from '../../pods/pod-manager.ts';
import { createNodeEventSink } from '../../registration/node-events.ts';
import type { Base } from '../base.ts';

interface OomParts {
  readonly view: RuntimeView;
  readonly manager: PodManager;
  readonly cgroups: Pick<PodCgroups, 'pathOf'>;
  readonly open: () => Promise<CgroupMaker | undefined>;
  readonly event: PodEvent;
}

/** Undefined if the kernel log cannot be opened, which is logged. */
async function openLog({ log }: Base): Promise<KernelLog | undefined> {
  return openKernelLog().catch((err: unknown) => {
    log.info({ err }, 'Failed to open kernel log; OOM kills reported by the runtime only');
    return undefined;
  });
}

/** Runs until the signal fires. Never rejects. */
export async function runOomWatcher(base: Base, parts: OomParts, signal: AbortSignal): Promise<void> {
  const { view, manager, cgroups, open, event } = parts;
  const { clock, log, events, node } = base;
  const kernelLog = await openLog(base);
  const watcher = createOomWatcher({
    read: async () => (await kernelLog?.read()) ?? [],
    container: (id) => view.container(id),
    containers: (podUID) => view.pod(podUID).containers,
    pod: (podUID) => manager.workers().find(({ pod }) => pod.metadata?.uid === podUID)?.pod,
    countKills: async (pod) => {
      const path = cgroups.pathOf(pod);
      return path === undefined ? undefined : (await open())?.tree.oomKills(path);
    },
    recordOomKill: (id) => view.noteOom(id),
    event,
    nodeEvent: createNodeEventSink(events, node),
    clock,
    log,
  });
  const ends = [
    view.onOom((id) => watcher.runtimeTold(id)),
    view.onChange((podUID) => watcher.podChanged(podUID)),
  ];
  await watcher.run(signal);
  for (const end of ends) end();
  await kernelLog?.close();
}
