/** Lists all objects of this agent in the runtime, and queries details only of changed ones. */
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

/** Updates the view from the runtime. @throws CriError when the runtime is unavailable */
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

/** Lists lack exit code and times: queries the status of changed containers. Undefined when it is gone. */
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

/** Lists lack addresses: queries the status of new sandboxes. */
async function completeSandbox(
  { view, statuses }: RelistDeps,
  listed: ObservedSandbox,
): Promise<ObservedSandbox> {
  if (!listed.ready || view.sandbox(listed.id) !== undefined) return listed;
  return (await statuses.sandbox(listed.id)) ?? listed;
}
