/** Model test of the status that watchers of the API server and readers of the agent may see of one pod, over
 *  random pods, errors and restarts of the agent. The rules are in `testing/pod-status-rules.ts`. */
import {
  type Arbitrary,
  array,
  assert,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  nat,
  oneof,
  record,
  tuple,
} from 'fast-check';
import { expect, test } from 'vitest';
import type { Container, Pod, PodStatus } from '#api/gen/core-v1.ts';
import { formatTime } from '#api/meta/time.ts';
import { removalErrors, stateErrors, stepErrors } from '../../testing/pod-status-rules.ts';
import { endOfUnseen } from '../pods-api/released-status.ts';
import { mergedStatus } from '../pods-api/status-patch.ts';
import { createLife, type Life } from './life.fixture.ts';
import { type CallFate, WORLD_POD_UID } from './world.fixture.ts';

const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'i', ...more });

const pods: Arbitrary<Pod> = record({
  restartPolicy: constantFrom('Always' as const, 'OnFailure' as const, 'Never' as const),
  inits: constantFrom<readonly Container[]>(
    [],
    [container('i1'), container('i2')],
    [container('i1'), container('side', { restartPolicy: 'Always' })],
  ),
  apps: constantFrom<readonly Container[]>([container('a')], [container('a'), container('b')]),
  deadline: constantFrom<object>({}, {}, { activeDeadlineSeconds: 600 }),
}).map(({ restartPolicy, inits, apps, deadline }) => ({
  metadata: { name: 'web', namespace: 'default', uid: WORLD_POD_UID },
  spec: {
    restartPolicy,
    terminationGracePeriodSeconds: 5,
    ...(inits.length === 0 ? {} : { initContainers: inits }),
    containers: apps,
    ...deadline,
  },
}));

const index = nat(9);
const isSeen = boolean();
const exitCode = constantFrom(0, 0, 1);

type Step = (scene: Scene) => unknown;

/** A step with its weight. */
const weighted = (weight: number, arbitrary: Arbitrary<Step>) => ({ weight, arbitrary });

/** Named, so that a counterexample can be read. */
function named(name: string, step: Step): Step {
  return Object.assign((scene: Scene) => step(scene), { toString: () => name });
}

const steps: Arbitrary<Step> = oneof(
  weighted(
    8,
    index.map((at) => named(`complete ${at}`, ({ life }) => life.world.complete(at))),
  ),
  weighted(
    3,
    tuple(index, exitCode, isSeen).map(([at, code, seen]) =>
      named(`exit ${at} with ${code} ${seen}`, ({ life }) => life.world.exit(at, code, seen)),
    ),
  ),
  weighted(
    4,
    tuple(index, exitCode).map(([at, code]) =>
      named(`exit ${at} with ${code} by event`, ({ life }) => life.world.exitByEvent(at, code)),
    ),
  ),
  weighted(
    3,
    constantFrom(0, 500, 11_000, 700_000).map((ms) =>
      named(`wait ${ms}`, ({ life }) => life.clock.advance(ms)),
    ),
  ),
  weighted(3, constant(named('relist', ({ life }) => life.world.relist()))),
  weighted(2, constant(named('restart', (scene) => scene.restart()))),
  weighted(4, constant(named('report', (scene) => scene.report()))),
  weighted(2, constant(named('mark unready', (scene) => scene.markUnready()))),
  weighted(
    2,
    constantFrom<CallFate>('refused', 'response-lost', 'late').map((fate) =>
      named(fate, ({ life }) => life.world.fates.push(fate)),
    ),
  ),
  weighted(
    1,
    tuple(index, isSeen).map(([at, seen]) =>
      named(`lose ${at} ${seen}`, ({ life }) => life.world.lose(at, seen)),
    ),
  ),
  weighted(
    1,
    tuple(index, isSeen).map(([at, seen]) =>
      named(`break ${at} ${seen}`, ({ life }) => life.world.breakSandbox(at, seen)),
    ),
  ),
  weighted(
    2,
    index.map((at) => named(`probe ${at}`, (scene) => scene.probe(at))),
  ),
  weighted(1, constant(named('evict', (scene) => scene.evict()))),
  weighted(1, constant(named('remove', ({ life }) => life.remove()))),
);

/** The agent, its server, and watchers of both. */
interface Scene {
  readonly life: Life;
  readonly errors: readonly string[];
  /** Writes the newest status to the server, as the status writer does. */
  report(): void;
  /** As the node lifecycle controller does with the pods of a node that is not ready. */
  markUnready(): void;
  /** The agent dies: statuses that it has not reported are lost. */
  restart(): void;
  /** Inverts the result of a probe. */
  probe(at: number): void;
  evict(): Promise<void>;
  /** The object is deleted as soon as nothing is left of the pod. */
  release(): void;
}

function createScene(pod: Pod, fates: readonly CallFate[]): Scene {
  const errors: string[] = [];
  const watch = (before: PodStatus | undefined, after: PodStatus): void => {
    const next = { ...pod, status: after };
    errors.push(...stateErrors(next));
    if (before !== undefined) errors.push(...stepErrors({ ...pod, status: before }, next));
  };
  const unready = new Set<string>();
  let local: PodStatus | undefined;
  let server: PodStatus | undefined;
  const life = createLife(pod, {
    fates,
    onStatus(status) {
      // When its removal starts, the status of a pod stays.
      if (status === local || status.phase === undefined) return;
      watch(local, status);
      local = status;
    },
    probeVerdict: (id) => ({ started: true, ready: !unready.has(id) }),
  });
  const notified = (own: PodStatus): void => {
    // Absent lists are not reverted.
    const next = { ...server, ...mergedStatus(pod, own, { ...server }, life.clock.now()) };
    watch(server, next);
    server = next;
  };
  return {
    life,
    errors,
    report() {
      if (local !== undefined) notified(local);
    },
    markUnready() {
      const conditions = server?.conditions?.map((condition) =>
        condition.type === 'Ready' && condition.status === 'True'
          ? { ...condition, status: 'False' as const, lastTransitionTime: formatTime(life.clock.now()) }
          : condition,
      );
      if (conditions === undefined) return;
      const next = { ...server, conditions };
      watch(server, next);
      server = next;
    },
    restart() {
      local = undefined;
      life.restart();
    },
    probe(at) {
      const running = life.world.running();
      const { id = '' } = running[at % Math.max(running.length, 1)] ?? {};
      if (!unready.delete(id)) unready.add(id);
      life.worker().wake();
    },
    evict: () => life.worker().finish({ phase: 'Failed', reason: 'Evicted', message: 'short of memory' }),
    release() {
      if (server === undefined && local === undefined) return;
      notified(local ?? endOfUnseen({ ...server }, life.clock.now()));
      errors.push(...removalErrors({ ...pod, status: server ?? {} }));
    },
  };
}

async function run(scene: Scene, sequence: readonly Step[]): Promise<void> {
  const { life } = scene;
  await life.clock.advance(0);
  for (const step of sequence) {
    await step(scene);
    await life.clock.advance(0);
  }
  life.world.fates.length = 0;
  life.world.completeAll();
  life.world.relist();
  await life.clock.advance(0);
  scene.report();
  life.remove();
  for (let round = 0; round < 12 && !life.world.isRemoved; round += 1) {
    life.world.relist();
    await life.clock.advance(60_000);
  }
}

test('statuses never regress, terminal ones are complete, and a pod is terminal before it is removed', async () => {
  const fates = array(constantFrom<CallFate>('ok', 'refused', 'response-lost', 'late'), { maxLength: 4 });
  await assert(
    asyncProperty(pods, fates, array(steps, { maxLength: 50 }), async (pod, first, sequence) => {
      const scene = createScene(pod, first);
      await run(scene, sequence);
      expect(scene.life.world.isRemoved).toBe(true);
      scene.release();
      expect(scene.errors).toEqual([]);
    }),
    { numRuns: 600, seed: 17 },
  );
});
