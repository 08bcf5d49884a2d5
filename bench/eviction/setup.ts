/** Setup of the eviction rows: an agent that watches all signals, with a small memory limit for all pods
 *  together. */
import { access, readdir, rmdir } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { TestAgent } from '../../testing/agent.ts';
import { startTestContainerd } from '../../testing/containerd.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const MIB = 2 ** 20;
/** Memory limit of all pods together. */
const PODS_MIB = 700;
/** Threshold of available memory. */
export const MIN_MIB = 200;

export interface EvictionBench {
  readonly agent: TestAgent;
  /** Directory of the cgroup of all pods, which counts their memory. */
  readonly podsCgroup: string;
  readonly say: (line: string) => void;
}

const CGROUPS = '/sys/fs/cgroup';

async function memoryRoot(): Promise<string> {
  const isV1 = await access(`${CGROUPS}/memory`).then(
    () => true,
    () => false,
  );
  return isV1 ? `${CGROUPS}/memory` : CGROUPS;
}

/** Removes the cgroup in every hierarchy, innermost first; cgroups in use stay. */
async function removeCgroups(name: string): Promise<void> {
  for (const root of [CGROUPS, ...(await readdir(CGROUPS)).map((one) => join(CGROUPS, one))]) {
    const all = await readdir(join(root, name), { recursive: true, withFileTypes: true }).catch(() => []);
    const below = all.filter((one) => one.isDirectory()).map((one) => join(one.parentPath, one.name));
    for (const folder of [...below.toSorted().toReversed(), join(root, name)]) {
      await rmdir(folder).catch(() => undefined);
    }
  }
}

export async function setUpEviction(
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<EvictionBench> {
  say('starting containerd');
  const containerd = stack.use(await startTestContainerd());
  const name = `na-bench-${process.pid}`;
  stack.defer(() => removeCgroups(name));
  const thresholds = [
    `allocatableMemory.available<${MIN_MIB}Mi`,
    'memory.available<1Mi',
    'nodefs.available<1Mi',
    'nodefs.inodesFree<1',
    'imagefs.available<1Mi',
    'pid.available<1',
  ];
  const agent = stack.use(
    await TestAgent.create({
      endpoint: containerd.endpoint,
      folder: await createTempDir('na-bench-e-'),
      flags: [
        `--cgroup-root=/${name}`,
        `--system-reserved=memory=${Math.floor(totalmem() / MIB) - PODS_MIB}Mi`,
        `--eviction-hard=${thresholds.join()}`,
        '--kernel-memcg-notification',
        '--eviction-pressure-transition-period=1s',
      ],
    }),
  );
  const root = join(await memoryRoot(), name);
  const pods = await eventually(
    async () => (await readdir(root, { withFileTypes: true })).find((one) => one.isDirectory()),
    { what: 'pods have a cgroup' },
  );
  return { agent, podsCgroup: join(pods.parentPath, pods.name), say };
}
