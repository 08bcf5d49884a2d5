/** Generator of patches of the four kinds: valid, unusual and invalid ones. */
import type { TypeName } from '#api/schema/registry.ts';
import type { Random } from '../../testing/random.ts';
import { type Body, damaged, yamlOf } from './bodies.ts';
import { chance, fieldsOf, hostile, hostileName, structOf, textOf } from './hostile.ts';
import { shake } from './shake.ts';

type Members = Record<string, unknown>;

/** `object`: as it may be now. */
export function patchOf(random: Random, object: Readonly<Members>, type: TypeName | undefined): Body {
  const [kind, value] = random.pick(KINDS)(random, object, type);
  const yaml = kind === 'application/apply-patch+yaml' && chance(random, 40);
  const bytes = yaml ? yamlOf(random, value) : Buffer.from(textOf(value));
  return { type: kind, bytes: damaged(random, bytes, 12) };
}

type Make = (
  random: Random,
  object: Readonly<Members>,
  type: TypeName | undefined,
) => readonly [string, unknown];

const merge: Make = (random, object, type) => [
  'application/merge-patch+json',
  fragment(random, object, type),
];

const strategic: Make = (random, object, type) => [
  'application/strategic-merge-patch+json',
  withDirectives(random, fragment(random, object, type)),
];

const json: Make = (random, object) => [
  'application/json-patch+json',
  chance(random, 92)
    ? Array.from({ length: 1 + random.below(5) }, () => operation(random, object))
    : bomb(random),
];

const apply: Make = (random, object, type) => {
  const { metadata, status: _status, ...rest } = object as { metadata?: Members; status?: unknown };
  const {
    managedFields: _managed,
    resourceVersion: _version,
    uid: _uid,
    creationTimestamp: _time,
    ...meta
  } = metadata ?? {};
  const some = Object.fromEntries(
    Object.entries(rest).filter(([name]) => name === 'apiVersion' || name === 'kind' || chance(random, 70)),
  );
  return ['application/apply-patch+yaml', shake(random, { ...some, metadata: meta }, type)];
};

const KINDS: readonly Make[] = [merge, strategic, json, apply];

/** A part of the object, changed, or another object's part. */
function fragment(random: Random, object: Readonly<Members>, type: TypeName | undefined): unknown {
  const kind = random.below(10);
  if (kind < 5 || type === undefined) {
    const names = Object.keys(object).filter(() => chance(random, 40));
    return shake(random, Object.fromEntries(names.map((name) => [name, object[name]])), type);
  }
  if (kind < 8) return structOf(random, type, 4);
  if (kind === 8)
    return {
      metadata: { managedFields: random.pick([[], [{}], null, [{ fieldsV1: fieldsOf(random, 4) }], 5]) },
    };
  return hostile(random);
}

const DIRECTIVES: readonly (readonly [string, readonly unknown[]])[] = [
  ['$patch', ['replace', 'delete', 'merge', 'x', 5, null]],
  ['$retainKeys', [['name'], [], ['a', 5], 'name', null]],
  ['$deleteFromPrimitiveList/finalizers', [['a'], [1], 'a', []]],
  [
    '$setElementOrder/containers',
    [[{ name: 'main' }], [], ['main'], [{}], null, [{ name: 'x' }, { name: 'main' }]],
  ],
  ['$setElementOrder/finalizers', [['a', 'b'], [], [{}]]],
  ['$deleteFromPrimitiveList/', [['a']]],
  ['$setElementOrder/ports', [[{ containerPort: 80 }], [{ port: 80 }]]],
  ['$x', [1]],
];

function withDirectives(random: Random, value: unknown): unknown {
  const visit = (child: unknown): unknown => {
    if (Array.isArray(child)) {
      const items = child.map(visit);
      return chance(random, 15)
        ? [...items, { $patch: random.pick(['delete', 'replace', 'x']), name: 'main' }]
        : items;
    }
    if (typeof child !== 'object' || child === null) return child;
    const members = Object.entries(child).map(([name, member]) => [name, visit(member)]);
    if (chance(random, 20)) {
      const [name, values] = random.pick(DIRECTIVES);
      members.push([name, random.pick(values)]);
    }
    return Object.fromEntries(members);
  };
  return visit(value);
}

function pointer(random: Random, object: unknown): string {
  if (chance(random, 8))
    return random.pick([
      '',
      '/',
      '/a',
      'x',
      '/~',
      '/~2',
      '/~01',
      '/-',
      '//',
      '/spec/',
      '/__proto__/x',
      '/constructor/prototype/x',
      '/a'.repeat(500),
      '/\0',
    ]);
  let text = '';
  let value = object;
  while (typeof value === 'object' && value !== null && chance(random, 80)) {
    if (Array.isArray(value)) {
      const index: number | string = chance(random, 70)
        ? random.below(value.length + 1)
        : random.pick(['-', '-1', '01', '1e0', '99999999999', '', 'x', '4294967295']);
      text += `/${index}`;
      value = value[Number(index)];
      continue;
    }
    const members = value as Members;
    const names = Object.keys(members);
    const name = chance(random, 88) && names.length > 0 ? random.pick(names) : hostileName(random);
    text += `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    value = Object.hasOwn(members, name) ? members[name] : undefined;
  }
  return text;
}

function operation(random: Random, object: unknown): unknown {
  const op = random.pick([
    'add',
    'add',
    'replace',
    'remove',
    'move',
    'copy',
    'test',
    chance(random, 10) ? 'x' : 'add',
  ]);
  return {
    op,
    path: pointer(random, object),
    ...(op === 'move' || op === 'copy' || chance(random, 3) ? { from: pointer(random, object) } : {}),
    ...(op === 'remove' && chance(random, 90) ? {} : { value: hostile(random) }),
  };
}

/** Creates a patch that multiplies a value with each operation. */
function bomb(random: Random): unknown {
  const copy = { op: 'copy', from: '', path: '/metadata/annotations' };
  const bombs: readonly unknown[] = [
    Array.from({ length: 64 }, () => copy),
    Array.from({ length: 60 }, (_, index) => ({
      op: 'copy',
      from: '/metadata',
      path: `/metadata/x${index}`,
    })),
    Array.from({ length: 20_000 }, () => ({ op: 'test', path: '/metadata/name', value: 'f1' })),
    Array.from({ length: 9_000 }, (_, index) => ({
      op: 'add',
      path: '/metadata/finalizers/0',
      value: `a/${index}`,
    })),
    [{ op: 'move', from: '', path: '/metadata' }],
    [{ op: 'move', from: '/metadata', path: '/metadata/name' }],
    hostile(random),
  ];
  return random.pick(bombs);
}
