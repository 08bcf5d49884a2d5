/** Every field of Node, walked through the schema: a node may change it, or is refused. */
import { describe, expect, test } from 'vitest';
import { jsonFields, parseTypeName, shapeOf, type TypeName } from '#api/schema/registry.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { AdmissionRequest } from '../contract.ts';
import { checkOwnNode } from './node.ts';

const words = VOCABULARIES.kubernetes;

/** Fields that upstream's node agent writes, and fields that the server sets for every client. */
const MAY_CHANGE: readonly string[] = [
  ...['annotations', 'labels'].map((field) => `metadata.${field}`),
  ...['name', 'namespace', 'selfLink', 'uid', 'resourceVersion', 'generation', 'managedFields'].map(
    (field) => `metadata.${field}`,
  ),
  ...['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'].map(
    (field) => `metadata.${field}`,
  ),
  'spec.providerID',
  'spec.unschedulable',
];
const ONLY_WHEN_NEW: readonly string[] = ['spec.taints'];

interface Leaf {
  /** `spec.taints`: the field of metadata, spec or status that the leaf is in. */
  readonly field: string;
  readonly path: string;
  readonly value: unknown;
}

const SCALARS: Readonly<Record<string, unknown>> = { bool: true, int32: 7, int64: 7 };

/** A value of the type for each of its leaves, with nothing else in it. */
function leavesOf(type: string, packageName: string): readonly { path: string; value: unknown }[] {
  const shape = shapeOf(type, packageName);
  switch (shape.kind) {
    case 'scalar':
      return [{ path: '', value: SCALARS[shape.scalar] ?? 'n' }];
    case 'list':
      return leavesOf(shape.element, packageName).map(({ path, value }) => ({
        path: `[]${path}`,
        value: [value],
      }));
    case 'map':
      return leavesOf(shape.element, packageName).map(({ path, value }) => ({
        path: `{}${path}`,
        value: { own: value },
      }));
    case 'struct':
      return membersOf(shape.name);
    default:
      return shape satisfies never;
  }
}

const membersOf = (name: TypeName): readonly { path: string; value: unknown }[] =>
  jsonFields(name).flatMap((field) =>
    leavesOf(field.type, field.packageName).map(({ path, value }) => ({
      path: `.${field.json}${path}`,
      value: { [field.json]: value },
    })),
  );

const LEAVES: readonly Leaf[] = leavesOf('core/v1.Node', 'core/v1')
  .filter(({ path }) => path !== '.apiVersion' && path !== '.kind')
  .map(({ path, value }) => ({
    path: path.slice(1),
    field: /^\.(\w+\.\w+)/.exec(path)?.[1] ?? '',
    value,
  }));

const EMPTY = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };

function nodeWith(value: unknown): ApiObject {
  const { metadata, ...rest } = { metadata: {}, ...(value as object) };
  return {
    ...EMPTY,
    ...structuredClone(rest),
    metadata: { ...EMPTY.metadata, ...structuredClone(metadata) },
  };
}

function isAllowed(
  operation: 'CREATE' | 'UPDATE',
  now: ApiObject,
  before: ApiObject,
  subresource = '',
): boolean {
  const request: AdmissionRequest = {
    operation,
    resource: { info: { group: '', version: 'v1', plural: 'nodes' } } as unknown as Resource,
    subresource,
    namespace: '',
    name: operation === 'CREATE' ? '' : 'n',
    object: { ...now, metadata: { ...now.metadata, name: 'n' } },
    old: operation === 'CREATE' ? undefined : before,
    user: { name: 'system:node:n', groups: ['system:nodes'], extra: {} },
    dryRun: false,
    options: {},
    signal: () => new AbortController().signal,
    warn: () => undefined,
    annotate: () => undefined,
  };
  try {
    checkOwnNode(request, 'n', words);
    return true;
  } catch {
    return false;
  }
}

test('the walk finds every field', () => {
  expect(parseTypeName('core/v1.Node').typeName).toBe('Node');
  const fields = [...new Set(LEAVES.map(({ field }) => field))];
  for (const field of ['metadata.ownerReferences', 'metadata.finalizers', 'spec.podCIDR', 'status.images'])
    expect(fields).toContain(field);
  expect(LEAVES.length).toBeGreaterThan(80);
});

describe.each(LEAVES)('$path', ({ field, value }) => {
  const listed = MAY_CHANGE.includes(field) || field.startsWith('status.');

  test('may be set in a new Node if it is on the list', () => {
    expect(isAllowed('CREATE', nodeWith(value), EMPTY)).toBe(listed || ONLY_WHEN_NEW.includes(field));
  });

  test.each([
    ['set', nodeWith(value), EMPTY],
    ['removed', EMPTY, nodeWith(value)],
  ] as const)('may be %s if it is on the list', (_, now, before) => {
    expect(isAllowed('UPDATE', now, before)).toBe(listed);
  });

  test('may be set through the status if it is on the list or unchanged', () => {
    const isDropped = field.startsWith('spec.') && field !== 'spec.taints';
    expect(isAllowed('UPDATE', nodeWith(value), EMPTY, 'status')).toBe(listed || isDropped);
  });

  test('may stay', () => {
    expect(isAllowed('UPDATE', nodeWith(value), nodeWith(value))).toBe(true);
  });
});

test('a client that knows one member of the ranges changes neither', () => {
  const both = nodeWith({ spec: { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] } });
  expect(isAllowed('UPDATE', nodeWith({ spec: { podCIDR: '10.0.0.0/24' } }), both)).toBe(true);
  expect(isAllowed('UPDATE', nodeWith({ spec: { podCIDR: '10.0.1.0/24' } }), both)).toBe(false);
});
