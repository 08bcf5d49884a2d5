/** Small types and objects for the tests of apply. */

import type { ManagedFieldsEntry } from '#api/gen/meta-v1.ts';
import { isObject } from '#api/kit/object.ts';
import { finish } from '#api/kit/steps.ts';
import { StatusError, type StatusReason } from '#api/meta/status-error.ts';
import type { ListNode, MemberNode, StructNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type JsonObject } from '../patch/json-value.ts';
import type { ApiObject } from '../resources/contract.ts';
import { asApiObject } from './api-object.ts';
import { type ApplyInput, type ApplyResult, applyPatchObject } from './apply-patch.ts';
import { trackUpdate } from './track-update.ts';

export const SCALAR: TypeNode = { kind: 'scalar' };
export const UNTYPED_NODE: TypeNode = { kind: 'untyped' };

export function struct(
  members: Readonly<Record<string, TypeNode>>,
  structType: 'granular' | 'atomic' = 'granular',
): StructNode {
  const made = new Map<string, MemberNode>(Object.entries(members).map(([name, node]) => [name, { node }]));
  return { kind: 'struct', structType, members: [...made.keys()], member: (name) => made.get(name) };
}

export const list = (
  listType: ListNode['listType'],
  element: TypeNode,
  mapKeys: readonly string[] = [],
  keyDefaults: Readonly<Record<string, unknown>> = {},
): ListNode => ({
  kind: 'list',
  listType,
  mapKeys,
  keyDefaults,
  element,
});

export const map = (element: TypeNode, mapType: 'granular' | 'atomic' = 'granular'): TypeNode => ({
  kind: 'map',
  mapType,
  element,
});

const port = struct({ port: SCALAR, protocol: SCALAR, name: SCALAR });
const item = struct({
  name: SCALAR,
  image: SCALAR,
  args: list('atomic', SCALAR),
  ports: list('map', port, ['port', 'protocol'], { protocol: 'TCP' }),
});
const metadata = struct({
  name: SCALAR,
  namespace: SCALAR,
  uid: SCALAR,
  resourceVersion: SCALAR,
  creationTimestamp: SCALAR,
  generation: SCALAR,
  managedFields: list('atomic', UNTYPED_NODE),
  labels: map(SCALAR),
  annotations: map(SCALAR),
  finalizers: list('set', SCALAR),
});

export const specMembers: Readonly<Record<string, TypeNode>> = {
  replicas: SCALAR,
  paused: SCALAR,
  items: list('map', item, ['name']),
  tags: list('set', SCALAR),
  list: list('atomic', SCALAR),
  nodes: map(SCALAR),
  selector: map(SCALAR, 'atomic'),
  source: struct({ a: SCALAR, empty: struct({ size: SCALAR }) }),
};

/** The type of the tests; members of `spec` may have another type. */
export const modelWith = (changed: Readonly<Record<string, TypeNode>> = {}): TypeModel => ({
  root: struct({
    apiVersion: SCALAR,
    kind: SCALAR,
    metadata,
    spec: struct({ ...specMembers, ...changed }),
    status: struct({
      phase: SCALAR,
      conditions: list('map', struct({ type: SCALAR, status: SCALAR }), ['type']),
    }),
  }),
});

export const MODEL: TypeModel = modelWith();

export const thing = (spec: JsonObject, meta: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: 'x', ...meta },
  ...(Object.keys(spec).length === 0 ? {} : { spec }),
});

export const T0 = 1_600_000_000_000;

export type Options = Partial<Omit<ApplyInput, 'live' | 'applied' | 'manager'>>;

export function apply(
  live: ApiObject | undefined,
  manager: string,
  applied: JsonObject,
  options: Options = {},
): ApplyResult {
  return finish(
    applyPatchObject({
      live,
      applied,
      manager,
      model: MODEL,
      force: false,
      nowMs: T0,
      apiVersion: 'v1',
      subresource: '',
      ...options,
    }),
  );
}

/** Returns the stored object after consecutive applies. */
export function applyAll(
  ...steps: readonly (readonly [manager: string, spec: JsonObject, meta?: JsonObject])[]
): ApiObject {
  let live: ApiObject | undefined;
  for (const [manager, spec, meta] of steps) live = apply(live, manager, thing(spec, meta)).object;
  if (live === undefined) throw new Error('no steps');
  return live;
}

/** Returns the stored object after an update that sets these members. */
export function update(
  live: ApiObject | undefined,
  manager: string,
  members: JsonObject,
  options: Options = {},
): ApiObject {
  const base = live ?? asApiObject(thing({}));
  const next = structuredClone<ApiObject>({ ...base, ...members });
  finish(
    trackUpdate({
      live,
      next,
      manager,
      model: MODEL,
      nowMs: T0,
      apiVersion: 'v1',
      subresource: '',
      ...options,
    }),
  );
  return next;
}

export const entriesOf = (object: ApiObject): readonly ManagedFieldsEntry[] =>
  object.metadata.managedFields ?? [];

export function fieldsOf(object: ApiObject, manager: string): unknown {
  return entriesOf(object).find((entry) => entry.manager === manager)?.fieldsV1;
}

export const managersOf = (object: ApiObject): string[] =>
  entriesOf(object).map(({ manager = '', operation = '' }) => `${manager} ${operation}`);
export function specOf({ spec }: ApiObject): JsonObject {
  return isObject(spec) ? spec : {};
}

/** Returns the error of the call. */
export function statusOf(work: () => unknown): {
  code: number;
  reason: StatusReason;
  message: string;
  causes: readonly unknown[];
} {
  try {
    work();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const { code, reason, message, causes } = error;
    return { code, reason, message, causes };
  }
  throw new Error('it did not fail');
}
