/** `npm start -- --stop`: removes the agent, its pods and everything that was created for them. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { containerdLayout } from '#agent/runtime/managed/layout.ts';
import { isAlive, removeSandboxes, unmountUnder } from '#agent/runtime/managed/purge.ts';
import { removeManagedContainerd } from '#agent/runtime/managed/remove.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import { stopAgent } from './agent-process.ts';
import type { DemoLayout } from './layout.ts';
import { readRecord } from './record.ts';

export interface StopDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly say: (text: string) => void;
}

/** Idempotent, also when nothing was started.
 *  @throws AggregateError naming everything that could not be removed */
export async function stopDemo(deps: StopDeps, layout: DemoLayout): Promise<void> {
  const record = await readRecord(layout.record);
  await stopAgent(deps.clock, layout);
  deps.say('agent stopped');
  const external = record?.external;
  if (external === undefined) await removeManaged(deps, layout);
  else if (external.kind === 'docker') {
    const { removeDockerPods } = await import('./docker.ts');
    deps.say(`${await removeDockerPods(deps, layout, external.endpoint)} pods removed from docker`);
  } else await removeOurPods(deps, layout, external.endpoint);
  await unmountUnder([layout.root]);
  await removeCgroupTree(`/${layout.name}`);
  await rm(layout.root, { recursive: true, force: true });
  deps.say(`removed ${layout.root}`);
}

/** Removes pods through a running containerd if possible, so that their network rules are removed too. */
async function removeManaged(deps: StopDeps, layout: DemoLayout): Promise<void> {
  const containerd = containerdLayout(layout.containerd);
  // Its pods run on when its directory was deleted.
  if (!(await exists(containerd.dataDir)) && !(await isAlive(containerd))) return;
  await removeManagedContainerd({ ...layout.containerd, networkName: layout.name, log: deps.log });
  deps.say('pods, containers and containerd removed');
}

/** In an external runtime, removes only pods whose directories the demo agent created. */
async function removeOurPods(deps: StopDeps, layout: DemoLayout, endpoint: string): Promise<void> {
  const uids = new Set(await listFolder(join(layout.agentRoot, 'pods')));
  const connection = connectRuntime({ endpoint, log: deps.log });
  try {
    const removed = await removeSandboxes(connection.runtime, (sandbox) =>
      uids.has(sandbox.metadata?.uid ?? ''),
    );
    deps.say(`${removed} pods removed from ${endpoint}`);
  } finally {
    connection.close();
  }
}

async function exists(path: string): Promise<boolean> {
  return (await listFolder(path)).length > 0;
}

async function listFolder(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path);
  } catch {
    // No directory: nothing was started.
    return [];
  }
}
