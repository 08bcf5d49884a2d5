/** Foreground deletion over any graph of owners: everything that should go does go, whatever cycles there are. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import type { Resource } from '../../resources/contract.ts';
import { type CollectorAction, decideCollection, type OwnerState } from './decide.ts';
import type { Node } from './graph.ts';

const FOREGROUND = 'foregroundDeletion';
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- decisions do not read the resource
const resource = {} as Resource;

/** Objects 0 to n-1, each with the objects that own it. */
interface World {
  readonly count: number;
  readonly owners: readonly (readonly { readonly owner: number; readonly blocks: boolean }[])[];
  /** The object that a client deletes in the foreground. */
  readonly deleted: number;
  /** Order in which due objects are visited. */
  readonly order: readonly number[];
}

const worlds: fc.Arbitrary<World> = fc.integer({ min: 1, max: 6 }).chain((count) =>
  fc.record({
    count: fc.constant(count),
    owners: fc.array(
      fc.uniqueArray(fc.record({ owner: fc.nat({ max: count - 1 }), blocks: fc.boolean() }), {
        maxLength: 3,
        selector: ({ owner }) => owner,
      }),
      { minLength: count, maxLength: count },
    ),
    deleted: fc.nat({ max: count - 1 }),
    order: fc.array(fc.nat({ max: count - 1 }), { minLength: 1, maxLength: 40 }),
  }),
);

const uidOf = (index: number): string => `uid-${index}`;

function nodesOf({ count, owners, deleted }: World): Map<string, Node> {
  return new Map(
    Array.from({ length: count }, (_, index) => [
      uidOf(index),
      {
        uid: uidOf(index),
        resource,
        namespace: 'default',
        name: uidOf(index),
        owners: (owners[index] ?? []).map(
          ({ owner, blocks }): OwnerReference => ({
            apiVersion: 'v1',
            kind: 'X',
            name: uidOf(owner),
            uid: uidOf(owner),
            blockOwnerDeletion: blocks,
          }),
        ),
        finalizers: index === deleted ? [FOREGROUND] : [],
        deleting: index === deleted,
      },
    ]),
  );
}

/** Carries out an action as the API server does. */
function execute(nodes: Map<string, Node>, node: Node, action: CollectorAction): void {
  const goes = (finalizers: readonly string[], deleting: boolean): void => {
    if (deleting && finalizers.length === 0) nodes.delete(node.uid);
    else nodes.set(node.uid, { ...node, finalizers, deleting });
  };
  if (action.kind === 'delete') goes(action.propagation === 'Foreground' ? [FOREGROUND] : [], true);
  if (action.kind === 'removeFinalizer') {
    goes(
      node.finalizers.filter((each) => each !== action.finalizer),
      node.deleting,
    );
  }
  if (action.kind === 'dropOwners') {
    nodes.set(node.uid, { ...node, owners: node.owners.filter(({ uid }) => !action.uids.includes(uid)) });
  }
}

/** Visits the object once; reports whether anything was done. */
function reconcile(nodes: Map<string, Node>, uid: string): boolean {
  const node = nodes.get(uid);
  if (node === undefined) return false;
  const dependentsOf = (of: string): readonly Node[] =>
    [...nodes.values()].filter(({ owners }) => owners.some((owner) => owner.uid === of));
  const ownerState = (owner: OwnerReference): OwnerState => {
    const known = nodes.get(owner.uid);
    if (known === undefined) return 'gone';
    const waits = known.deleting && known.finalizers.includes(FOREGROUND);
    return waits && owner.blockOwnerDeletion === true ? 'waiting' : 'there';
  };
  const actions = decideCollection(node, { dependents: dependentsOf(uid), dependentsOf, ownerState }, []);
  const effective = actions.filter(({ kind }) => kind !== 'revisit');
  for (const action of effective) execute(nodes, node, action);
  return effective.length > 0;
}

/** Visits in the world's order, then round after round until nothing more happens. */
function settle(world: World): Map<string, Node> {
  const nodes = nodesOf(world);
  for (const index of world.order) reconcile(nodes, uidOf(index));
  for (let rounds = 0; rounds < 100; rounds += 1) {
    const acted = [...nodes.keys()].map((uid) => reconcile(nodes, uid));
    if (!acted.includes(true)) return nodes;
  }
  throw new Error('the collector never settles');
}

const ring = (count: number): World => ({
  count,
  owners: Array.from({ length: count }, (_, index) => [{ owner: (index + count - 1) % count, blocks: true }]),
  deleted: 0,
  order: [],
});

describe('foreground deletion', () => {
  test.each([1, 2, 3, 5])('of one of %d objects that own each other in a ring removes them all', (count) => {
    expect([...settle(ring(count)).keys()]).toEqual([]);
  });

  test('completes for any graph of owners', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const left = settle(world);
        expect([...left.values()].filter(({ deleting }) => deleting)).toEqual([]);
      }),
      { numRuns: 2000, seed: 20_261_123 },
    );
  });

  test('removes an owner only after the dependents that block it and are not waiting for it themselves', () => {
    const chain: World = {
      count: 3,
      owners: [[], [{ owner: 0, blocks: true }], [{ owner: 1, blocks: true }]],
      deleted: 0,
      order: [],
    };
    const nodes = nodesOf(chain);
    const gone: string[] = [];
    for (let rounds = 0; rounds < 10; rounds += 1) {
      for (const uid of Array.from(nodes.keys())) {
        reconcile(nodes, uid);
        if (!nodes.has(uid)) gone.push(uid);
      }
    }
    expect(gone).toEqual([uidOf(2), uidOf(1), uidOf(0)]);
  });
});
