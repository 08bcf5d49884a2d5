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
} from 'fast-check';
import { expect, test } from 'vitest';
import type { Container, Pod } from '#api/gen/core-v1.ts';
import { createLife, type Life } from './life.fixture.ts';
import { type CallFate, TestWorld, WORLD_POD_UID } from './world.fixture.ts';

const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'i', ...more });

function podOf(restartPolicy: 'Always' | 'OnFailure' | 'Never'): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: WORLD_POD_UID },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 5,
      initContainers: [container('i1'), container('side', { restartPolicy: 'Always' }), container('i2')],
      containers: [container('a'), container('b')],
    },
  };
}

type Step =
  | { readonly kind: 'complete' | 'relist' | 'restart' | 'remove'; readonly index: number }
  | { readonly kind: 'exit'; readonly index: number; readonly exitCode: number; readonly notified: boolean }
  | { readonly kind: 'breakSandbox'; readonly index: number; readonly notified: boolean }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'fate'; readonly fate: CallFate };

const index = nat(9);
const notified = boolean();
const fate = constantFrom<CallFate>('refused', 'response-lost', 'late', 'late');
const firstFates = array(oneof(fate, constant<CallFate>('ok')), { maxLength: 4 });
const step: Arbitrary<Step> = oneof(
  { weight: 8, arbitrary: record({ kind: constant('complete' as const), index }) },
  {
    weight: 4,
    arbitrary: record({
      kind: constant('exit' as const),
      index,
      exitCode: constantFrom(0, 0, 1),
      notified,
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      kind: constant('wait' as const),
      ms: constantFrom(0, 500, 11_000, 700_000),
    }),
  },
  {
    weight: 2,
    arbitrary: record({ kind: constantFrom('relist' as const, 'restart' as const), index }),
  },
  {
    weight: 2,
    arbitrary: record({
      kind: constant('fate' as const),
      fate,
    }),
  },
  { weight: 1, arbitrary: record({ kind: constant('breakSandbox' as const), index, notified }) },
  { weight: 2, arbitrary: record({ kind: constant('remove' as const), index }) },
);

async function take(life: Life, next: Step): Promise<void> {
  const { world, clock } = life;
  switch (next.kind) {
    case 'complete':
      world.complete(next.index);
      break;
    case 'relist':
      world.relist();
      break;
    case 'restart':
      life.restart();
      break;
    case 'remove':
      life.remove();
      break;
    case 'exit':
      world.exit(next.index, next.exitCode, next.notified);
      break;
    case 'breakSandbox':
      world.breakSandbox(next.index, next.notified);
      break;
    case 'fate':
      world.fates.push(next.fate);
      break;
    case 'wait':
      await clock.advance(next.ms);
      break;
    default:
      next satisfies never;
  }
  await clock.advance(0);
}

/** No further errors: calls succeed, init containers complete, time passes. */
async function heal({ world, clock }: Life): Promise<void> {
  world.fates.length = 0;
  world.completeAll();
  for (let round = 0; round < 12; round += 1) {
    world.relist();
    await clock.advance(301_000);
    const inits = world.containers().filter(({ state }) => state === 'running');
    for (const [position, { name }] of inits.entries())
      if (name.startsWith('i')) world.exit(position, 0, true);
    await clock.advance(0);
  }
}

const runningNames = (world: TestWorld): readonly string[] =>
  world
    .running()
    .map(({ name }) => name)
    .sort();

/** Violated expectations of the final state; empty when it is correct. */
function errors(life: Life): readonly string[] {
  const { world } = life;
  const names = runningNames(world);
  const ready = world.sandboxes().filter((sandbox) => sandbox.ready).length;
  const found = [...world.violations];
  const check = (holds: boolean, text: string): void => {
    if (!holds) found.push(text);
  };
  if (life.isRemoving()) {
    check(world.isRemoved, 'pod is still there');
  } else if (life.terminal() !== undefined) {
    check(names.length === 0, `${names.join()} run in a pod that has ended`);
    check(ready === 0 && !world.isMounted, 'a pod that has ended keeps its sandbox or volumes');
  } else {
    check(ready === 1, `${ready} sandboxes`);
    check(new Set(names).size === names.length, `${names.join()} run`);
    check(names.includes('side'), 'sidecar does not run');
    for (const name of ['a', 'b']) {
      const made = world.containers().some((one) => one.name === name);
      check(names.includes(name) || made, `${name} was never started`);
    }
  }
  return found;
}

test.each(['Always', 'OnFailure', 'Never'] as const)(
  'restart policy %s: no container ever runs twice or too early, and the final state is as desired',
  async (policy) => {
    await assert(
      asyncProperty(firstFates, array(step, { maxLength: 60 }), async (fates, steps) => {
        const life = createLife(podOf(policy), { fates });
        await life.clock.advance(0);
        for (const next of steps) await take(life, next);
        await heal(life);
        expect(errors(life)).toEqual([]);
      }),
      { numRuns: 250 },
    );
  },
);

test('with restart policy Always all containers run in the end', async () => {
  await assert(
    asyncProperty(
      array(
        step.filter(({ kind }) => kind !== 'remove'),
        { maxLength: 60 },
      ),
      async (steps) => {
        const life = createLife(podOf('Always'));
        await life.clock.advance(0);
        for (const next of steps) await take(life, next);
        await heal(life);
        expect(runningNames(life.world)).toEqual(['a', 'b', 'side']);
      },
    ),
    { numRuns: 100 },
  );
});
