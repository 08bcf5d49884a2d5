/** Setup of the docker rows: a private dockerd, the bundled agent as shipped, and the baseline. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { BUNDLE_ENTRIES, bundle } from '../../scripts/bundle.ts';
import { startTestDockerd } from '../../testing/dockerd.ts';
import { createTempDir } from '../../testing/temp.ts';
import { createBench, createShippedAgent, programIn, type StartBench } from '../setup.ts';
import { watchStarted } from '../started.ts';
import { createDockerFloor } from './floor.ts';

/** Starts everything; disposing of the stack stops and removes it. */
export async function setUpDocker(
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<StartBench> {
  const folder = stack.use(await createTempDir('na-bench-'));
  say('bundling the agent');
  await bundle(programIn(folder.path), BUNDLE_ENTRIES);
  say('starting dockerd');
  let cgroup: string | undefined;
  // After docker and the remaining processes of pods are gone.
  stack.defer(async () => {
    if (cgroup !== undefined) await removeCgroupTree(cgroup);
  });
  const dockerd = stack.use(await startTestDockerd({ network: 'machine' }));
  const outDir = join(folder.path, 'out');
  await mkdir(outDir);
  const started = stack.use(watchStarted(outDir));
  const agent = await createShippedAgent(stack, folder.path, {
    endpoint: '',
    flags: [
      '--container-runtime=docker',
      `--docker-endpoint=unix://${dockerd.socketPath}`,
      '--pod-infra-container-image=local/pause:1',
    ],
  });
  cgroup = agent.cgroup;
  stack.defer(async () => void (await agent.stop()));
  await agent.start();
  const floor = createDockerFloor(dockerd.client, outDir);
  const bench = createBench({ agent, floor, started, say }, outDir);
  // Pods outlive the agent, and their cgroups are below its own.
  stack.defer(() => bench.clear());
  return bench;
}
