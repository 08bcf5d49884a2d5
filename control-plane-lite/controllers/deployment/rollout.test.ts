/** A whole update, step by step, with delayed ReplicaSet status and slow pods: the limits hold at every step,
 *  and the update completes. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decideDeployment } from './decide.ts';
import { deploymentOf, NAMES, setOf } from './deployment.fixture.ts';
import type { DeploymentFacts, ReplicaSetFacts } from './model.ts';
import { allOf } from './revisions.ts';

/** Actual state of a ReplicaSet. */
interface Actual {
  pods: number;
  available: number;
}

interface World {
  deployment: DeploymentFacts;
  sets: readonly ReplicaSetFacts[];
  readonly actual: Map<string, Actual>;
  made: number;
}

const actualOf = ({ actual }: World, name: string): Actual => {
  const found = actual.get(name) ?? { pods: 0, available: 0 };
  actual.set(name, found);
  return found;
};

/** The ReplicaSet controller: pods as the spec says. Unavailable ones go first. */
function replicate(world: World, set: ReplicaSetFacts): void {
  const actual = actualOf(world, set.name);
  actual.pods = set.replicas;
  actual.available = Math.min(actual.available, set.replicas);
}

/** Its status, as it is now. */
const report = (world: World, set: ReplicaSetFacts): ReplicaSetFacts => {
  const { pods, available } = actualOf(world, set.name);
  return { ...set, actual: pods, ready: available, available };
};

function control(world: World): void {
  const { sets, status } = decideDeployment({
    deployment: world.deployment,
    sets: world.sets,
    havePods: () => false,
    names: NAMES,
    nowMs: 0,
  });
  world.sets = allOf(sets).map((set) => {
    if (set.uid !== '') return set;
    world.made += 1;
    return { ...set, uid: `made-${world.made}`, createdMs: 1_000_000 };
  });
  world.deployment = { ...world.deployment, status };
}

type Step = 'control' | 'replicate' | 'ready' | 'report';

function act(world: World, step: Step, index: number): void {
  const set = world.sets[index % Math.max(1, world.sets.length)];
  if (step === 'control') return control(world);
  if (set === undefined) return undefined;
  const actual = actualOf(world, set.name);
  if (step === 'replicate') replicate(world, set);
  else if (step === 'ready') actual.available = Math.min(actual.pods, actual.available + 1);
  else world.sets = world.sets.map((each) => (each === set ? report(world, each) : each));
  return undefined;
}

function assertBounds({ deployment, sets, actual }: World): void {
  const { replicas, maxSurge, maxUnavailable } = deployment;
  const wanted = sets.reduce((total, set) => total + set.replicas, 0);
  expect(wanted).toBeLessThanOrEqual(replicas + maxSurge);
  // Pods that stay: those scaled down count as deleted.
  const available = sets.reduce(
    (total, { name, replicas: size }) => total + Math.min(size, actual.get(name)?.available ?? 0),
    0,
  );
  expect(available).toBeGreaterThanOrEqual(replicas - maxUnavailable);
}

test('an update never has too many pods, nor too few that are available, and comes to its end', () => {
  const step = fc.constantFrom<Step>('control', 'replicate', 'ready', 'report');
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.nat(4),
      fc.nat(4),
      fc.array(fc.tuple(step, fc.nat(7)), { maxLength: 120 }),
      (replicas, surge, unavailable, steps) => {
        const maxSurge = surge === 0 && unavailable === 0 ? 1 : surge;
        const maxUnavailable = Math.min(unavailable, replicas);
        const old = setOf('v1', replicas, { desired: replicas });
        const world: World = {
          deployment: deploymentOf({ replicas, maxSurge, maxUnavailable }),
          sets: [old],
          actual: new Map([[old.name, { pods: replicas, available: replicas }]]),
          made: 0,
        };
        for (const [kind, index] of steps) {
          act(world, kind, index);
          assertBounds(world);
        }
        for (let round = 0; round < 60; round += 1) {
          control(world);
          assertBounds(world);
          for (const set of world.sets) replicate(world, set);
          for (const [index] of world.sets.entries()) {
            for (let pod = 0; pod < replicas; pod += 1) act(world, 'ready', index);
          }
          for (const set of world.sets)
            world.sets = world.sets.map((each) => (each === set ? report(world, each) : each));
        }
        expect(world.deployment.status).toMatchObject({
          replicas,
          updatedReplicas: replicas,
          availableReplicas: replicas,
        });
      },
    ),
  );
});
