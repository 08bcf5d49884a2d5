import { describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { PodSandbox } from '#cri/gen/cri-v1.ts';
import { criKeys, type Owner } from '../pod-identity/labels.ts';
import { createLostSandboxes, isShown, type LostSandboxDeps, showInstance } from './lost-sandboxes.ts';

const owner: Owner = { vocabulary: VOCABULARIES.plat, instance: 'mine', rootDir: '/root', node: 'n' };
const keys = criKeys(VOCABULARIES.plat);

interface Traits {
  readonly instance?: string;
  readonly rootDir?: string;
  readonly node?: string;
  readonly podUID?: string;
}

const sandbox = (id: string, traits: Traits = {}): PodSandbox => {
  const { instance = 'lost', rootDir = '/root', node = 'n', podUID = 'u' } = traits;
  return {
    id,
    metadata: undefined,
    state: 'SANDBOX_READY',
    createdAt: 0n,
    labels: instance === '' ? {} : { [keys.instance]: instance, [keys.podUID]: podUID },
    annotations: { ...(rootDir === '' ? {} : { [keys.rootDir]: rootDir }), [keys.node]: node },
    runtimeHandler: '',
  } as unknown as PodSandbox;
};

/** @param instances instance IDs by existing root directory; IDs of live agents */
function setUp(
  sandboxes: readonly PodSandbox[],
  instances: Readonly<Record<string, string>> = {},
  live: readonly string[] = [],
) {
  const calls: string[] = [];
  const runtime = {
    listPodSandbox: ({ filter }: { filter?: { labelSelector?: Readonly<Record<string, string>> } }) => {
      const wanted = Object.entries(filter?.labelSelector ?? {});
      return Promise.resolve({
        items: sandboxes.filter(({ labels }) => wanted.every(([key, value]) => labels[key] === value)),
      });
    },
    listContainers: () =>
      Promise.resolve({
        containers: [
          { id: 'c1', state: 'CONTAINER_RUNNING', annotations: { [keys.podTerminationGracePeriod]: '7' } },
          { id: 'c2', state: 'CONTAINER_RUNNING', annotations: {} },
          { id: 'c3', state: 'CONTAINER_EXITED', annotations: {} },
        ],
      }),
    stopContainer: ({ containerId, timeout }: { containerId: string; timeout: bigint }) => {
      calls.push(`stop ${containerId} ${timeout}`);
      return Promise.resolve({});
    },
    stopPodSandbox: ({ podSandboxId }: { podSandboxId: string }) => {
      calls.push(`stop ${podSandboxId}`);
      return Promise.resolve({});
    },
    removePodSandbox: ({ podSandboxId }: { podSandboxId: string }) => {
      calls.push(`remove ${podSandboxId}`);
      return Promise.resolve({});
    },
  } as unknown as LostSandboxDeps['runtime'];
  const lost = createLostSandboxes({
    runtime,
    owner,
    log: silentLogger,
    instanceOf: (rootDir) =>
      rootDir === '/broken' ? Promise.reject(new Error('EIO')) : Promise.resolve(instances[rootDir] ?? ''),
    isLive: (instance) => Promise.resolve(live.includes(instance)),
  });
  const removed = (): readonly string[] => calls.filter((call) => call.startsWith('remove'));
  return { lost, calls, removed };
}

describe('createLostSandboxes', () => {
  test('stops containers with their grace period before it removes a sandbox', async () => {
    const { lost, calls } = setUp([sandbox('s')], { '/root': 'mine' });
    await lost.sweep();
    expect(calls).toEqual(['stop c1 7', 'stop c2 30', 'stop s', 'remove s']);
  });

  test.each<[string, Traits, number, number]>([
    ['of this root, whose instance is another now', {}, 1, 1],
    ['of its own', { instance: 'mine' }, 0, 0],
    ['of another node', { node: 'm' }, 0, 0],
    ['without an instance', { instance: '' }, 0, 0],
    ['of an agent without a recorded root directory', { rootDir: '' }, 0, 0],
    ['of another root that is gone: only where it blocks a name', { rootDir: '/gone' }, 0, 1],
    ['of another root that is there', { rootDir: '/there' }, 0, 0],
    ['of another root that is another one now', { rootDir: '/there', instance: 'old' }, 0, 1],
    ['of a root that cannot be read', { rootDir: '/broken' }, 0, 0],
    ['of an agent that lives, though its root is lost', { instance: 'alive' }, 0, 0],
  ])('%s', async (_, traits, swept, removed) => {
    const instances = { '/root': 'mine', '/there': 'lost' };
    const sweeping = setUp([sandbox('s', traits)], instances, ['alive']);
    await sweeping.lost.sweep();
    expect(sweeping.removed()).toHaveLength(swept);
    const removing = setUp([sandbox('s', traits)], instances, ['alive']);
    expect(await removing.lost.removeOf('u')).toBe(removed === 1);
    expect(removing.removed()).toHaveLength(removed);
  });

  test('replaces its own sandboxes of another vocabulary', async () => {
    const other = criKeys(VOCABULARIES.kubernetes);
    const labels = { [other.instance]: 'mine', [other.podUID]: 'u' };
    const annotations = { [other.rootDir]: '/root', [other.node]: 'n' };
    const { lost, removed } = setUp([{ ...sandbox('s'), labels, annotations }], { '/root': 'mine' });
    expect(await lost.removeOf('other')).toBe(false);
    await lost.sweep();
    expect(removed()).toHaveLength(1);
  });

  test('coalesces concurrent removals', async () => {
    const { lost, removed } = setUp([sandbox('s')], { '/root': 'mine' });
    await Promise.all([lost.sweep(), lost.removeOf('u'), lost.removeOf('u')]);
    expect(removed()).toHaveLength(1);
  });
});

test('a published instance is live until its process releases it', async () => {
  const instance = `test-${process.pid}-${Date.now()}`;
  expect(await isShown(instance)).toBe(false);
  const shown = await showInstance(instance, silentLogger);
  expect(await isShown(instance)).toBe(true);
  await shown[Symbol.asyncDispose]();
  expect(await isShown(instance)).toBe(false);
});
