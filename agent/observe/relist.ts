/** Reads everything that this agent has in the runtime, asking for details only where something moved. */
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { CriReader } from './read.ts';
import type { Listing, RuntimeView } from './runtime-view.ts';
import type { StatusReader } from './status-reader.ts';
import type { ObservedContainer, ObservedSandbox } from './types.ts';

export interface RelistDeps {
  readonly runtime: RuntimeService;
  readonly read: CriReader;
  readonly statuses: StatusReader;
  readonly view: RuntimeView;
}

/** Brings the view up to date with the runtime. @throws CriError when the runtime is away */
export async function relist(deps: RelistDeps, signal: AbortSignal): Promise<void> {
  const mark = deps.view.mark();
  deps.view.replace(await readListing(deps, signal), mark);
}

async function readListing(deps: RelistDeps, signal: AbortSignal): Promise<Listing> {
  const { runtime, read } = deps;
  const filter = { labelSelector: read.ownerLabels };
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandbox({ filter }, { signal }),
    runtime.listContainers({ filter }, { signal }),
  ]);
  const ownSandboxes = sandboxes.items.flatMap((item) => read.sandbox(item) ?? []);
  const ownContainers = containers.containers.flatMap((item) => read.container(item) ?? []);
  const complete = await Promise.all(ownContainers.map((listed) => completeContainer(deps, listed)));
  return {
    sandboxes: await Promise.all(ownSandboxes.map((listed) => completeSandbox(deps, listed))),
    containers: complete.filter((container) => container !== undefined),
  };
}

/** A list has no exit code and no times: asks for those of containers that moved. Undefined when it is gone. */
async function completeContainer(
  { view, statuses }: RelistDeps,
  listed: ObservedContainer,
): Promise<ObservedContainer | undefined> {
  const known = view.container(listed.id);
  const isComplete = known?.isProvisional !== true;
  if (known !== undefined && isComplete && (known.state === listed.state || known.state === 'exited'))
    return known;
  return statuses.container(listed.id, listed);
}

/** A list has no addresses: asks for those of sandboxes that are new. */
async function completeSandbox(
  { view, statuses }: RelistDeps,
  listed: ObservedSandbox,
): Promise<ObservedSandbox> {
  if (!listed.ready || view.sandbox(listed.id) !== undefined) return listed;
  return (await statuses.sandbox(listed.id)) ?? listed;
}
