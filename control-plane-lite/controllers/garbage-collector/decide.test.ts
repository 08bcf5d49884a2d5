import { describe, expect, test } from 'vitest';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import type { Resource } from '../../resources/contract.ts';
import { decideCollection, type OwnerState } from './decide.ts';
import type { Node } from './graph.ts';

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- decisions do not read the resource
const resource = {} as Resource;
const owner = (uid: string, blockOwnerDeletion = false): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'X',
  name: uid,
  uid,
  blockOwnerDeletion,
});
const node = (changes: Partial<Node> = {}): Node => ({
  uid: 'me',
  resource,
  namespace: 'default',
  name: 'me',
  owners: [],
  finalizers: [],
  deleting: false,
  ...changes,
});
const states = (map: Readonly<Record<string, OwnerState>>) => (ref: OwnerReference) => map[ref.uid] ?? 'gone';

interface Row {
  readonly name: string;
  readonly node: Node;
  readonly dependents?: readonly Node[];
  readonly owners?: Readonly<Record<string, OwnerState>>;
  readonly orphaning?: readonly string[];
  readonly expected: unknown;
}

const rows: readonly Row[] = [
  { name: 'leaves what has no owner', node: node(), expected: [] },
  {
    name: 'leaves objects with an owner',
    node: node({ owners: [owner('a')] }),
    owners: { a: 'there' },
    expected: [],
  },
  {
    name: 'deletes objects whose only owner is gone',
    node: node({ owners: [owner('a')] }),
    expected: [{ kind: 'delete', propagation: 'Background' }],
  },
  {
    name: 'leaves objects with an owner of an unknown kind',
    node: node({ owners: [owner('a'), owner('b')] }),
    owners: { b: 'unknown' },
    expected: [{ kind: 'dropOwners', uids: ['a'] }],
  },
  {
    name: 'forgets one of two owners',
    node: node({ owners: [owner('a'), owner('b')] }),
    owners: { b: 'there' },
    expected: [{ kind: 'dropOwners', uids: ['a'] }],
  },
  {
    name: 'deletes dependents that block their owner',
    node: node({ owners: [owner('a', true)] }),
    owners: { a: 'waiting' },
    expected: [{ kind: 'delete', propagation: 'Background' }],
  },
  {
    name: 'deletes it in the foreground if it owns something itself',
    node: node({ owners: [owner('a', true)] }),
    owners: { a: 'waiting' },
    dependents: [node({ uid: 'd', owners: [owner('me')] })],
    expected: [{ kind: 'delete', propagation: 'Foreground' }],
  },
  {
    name: 'drops a waiting owner if another one stays',
    node: node({ owners: [owner('a', true), owner('b')] }),
    owners: { a: 'waiting', b: 'there' },
    expected: [{ kind: 'dropOwners', uids: ['a'] }],
  },
  {
    name: 'follows the finalizer of the object itself',
    node: node({ owners: [owner('a')], finalizers: ['orphan'] }),
    expected: [{ kind: 'delete', propagation: 'Orphan' }],
  },
  {
    name: 'drops an orphaning owner',
    node: node({ owners: [owner('a')] }),
    owners: { a: 'there' },
    orphaning: ['a'],
    expected: [{ kind: 'dropOwners', uids: ['a'] }],
  },
  {
    name: 'queues the dependents of an orphaning owner',
    node: node({ deleting: true, finalizers: ['orphan'] }),
    dependents: [node({ uid: 'd', owners: [owner('me')] })],
    expected: [{ kind: 'revisit', uids: ['d'] }],
  },
  {
    name: 'removes the finalizer after the last dependent was orphaned',
    node: node({ deleting: true, finalizers: ['orphan'] }),
    expected: [{ kind: 'removeFinalizer', finalizer: 'orphan' }],
  },
  {
    name: 'queues the dependents that block foreground deletion',
    node: node({ deleting: true, finalizers: ['foregroundDeletion'] }),
    dependents: [
      node({ uid: 'd', owners: [owner('me', true)] }),
      node({ uid: 'e', owners: [owner('me', true)], deleting: true }),
    ],
    expected: [{ kind: 'revisit', uids: ['d'] }],
  },
  {
    name: 'does not wait for dependents that do not block',
    node: node({ deleting: true, finalizers: ['foregroundDeletion'] }),
    dependents: [node({ uid: 'd', owners: [owner('me')] })],
    expected: [{ kind: 'removeFinalizer', finalizer: 'foregroundDeletion' }],
  },
  {
    name: 'leaves objects with other finalizers',
    node: node({ deleting: true, finalizers: ['example.org/mine'], owners: [owner('a')] }),
    expected: [],
  },
];

describe('decideCollection', () => {
  test.each(rows)('$name', ({ node: subject, dependents = [], owners = {}, orphaning = [], expected }) => {
    const view = { dependents, dependentsOf: () => [], ownerState: states(owners) };
    expect(decideCollection(subject, view, orphaning)).toEqual(expected);
  });
});
