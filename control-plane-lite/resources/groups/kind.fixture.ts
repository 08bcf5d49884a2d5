/** Shared support of the tests of kinds: a valid object, changed in one place per row. */
import { decode } from '#api/schema/decode.ts';
import { applyDefaultsInPlace } from '#api/schema/defaults.ts';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import type { ApiObject, KindEntry, StrategyContext } from '../contract.ts';
import { type DropDisabled, dropDisabledFields } from '../drop-gated-fields.ts';
import { GATED_FIELDS } from '../gated-fields.ts';

export const NOW_MS: number = Date.parse('2026-11-21T12:00:00Z');

export interface ContextChanges {
  readonly vocabulary?: VocabularyName;
  readonly gates?: readonly string[];
  readonly user?: StrategyContext['user'] | undefined;
}

const ADMIN: StrategyContext['user'] = { name: 'admin', groups: ['admins'], extra: {} };

export function contextWith({
  vocabulary = 'plat',
  gates = [],
  user = ADMIN,
}: ContextChanges = {}): StrategyContext {
  return {
    vocabulary: VOCABULARIES[vocabulary],
    user,
    namespace: 'default',
    nowMs: NOW_MS,
    dryRun: false,
    gates: new Set(gates),
  };
}

/** Valid pod template. */
export const TEMPLATE: object = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'i:1' }] },
};

/** Description of the change, the change, the expected errors. */
export type ErrorRow = readonly [string, Changes, readonly string[]];

/** Values by path: `{'spec.containers.0.image': undefined}` removes a member. */
export type Changes = Readonly<Record<string, unknown>>;

function objectIn(parent: object, name: string): object {
  const found: unknown = Reflect.get(parent, name);
  if (typeof found === 'object' && found !== null) return found;
  const made = {};
  Reflect.set(parent, name, made);
  return made;
}

/** A copy of the object with the changes in place; objects on the way come into being. */
export function changed<T extends object>(object: T, changes: Changes): T {
  const copy = structuredClone(object);
  for (const [path, value] of Object.entries(changes)) {
    const steps = path.split('.');
    const last = steps.pop() ?? '';
    let node: object = copy;
    for (const step of steps) node = objectIn(node, step);
    if (value === undefined) Reflect.deleteProperty(node, last);
    else Reflect.set(node, last, value);
  }
  return copy;
}

export interface KindSubject {
  /** `apps/v1.Deployment` */
  readonly typeRef: string;
  readonly entry: KindEntry;
  /** Without defaults. */
  readonly base: object;
  readonly context?: ContextChanges;
}

/** The base with changes and defaults. */
export function objectWith({ typeRef, base, context = {} }: KindSubject, changes: Changes = {}): ApiObject {
  const { vocabulary, gates } = contextWith(context);
  const [group = '', rest = ''] = typeRef.split('/');
  const [version = '', kind = ''] = rest.split('.');
  const object = changed(
    {
      apiVersion: group === 'core' ? version : `${group}/${version}`,
      kind,
      metadata: { name: 'a' },
      ...base,
    },
    changes,
  );
  const { value } = decode<ApiObject>(typeRef, object);
  applyDefaultsInPlace(typeRef, value, { vocabulary, gates });
  return value;
}

const shortened = (error: { readonly kind: string; readonly field: string }): string =>
  `${error.field} ${error.kind.replace('FieldValue', '')}`;

/** Returns `spec.replicas Invalid` for each error of the changed object. */
export function errorsOf(subject: KindSubject, changes: Changes = {}): readonly string[] {
  const context = contextWith(subject.context);
  const object = objectWith(subject, changes);
  const { validate, validateCreate } = subject.entry.strategy;
  const errors = [...(validate?.(object, context) ?? []), ...(validateCreate?.(object, context) ?? [])];
  return errors.map(shortened);
}

/** Returns the errors of the update alone, from the base (with `before`) to the changed object. */
export function updateFaultsOf(
  subject: KindSubject,
  changes: Changes,
  before: Changes = {},
): readonly string[] {
  const context = contextWith(subject.context);
  const old = objectWith(subject, before);
  const object = objectWith(subject, { ...before, ...changes });
  return (subject.entry.strategy.validateUpdate?.(object, old, context) ?? []).map(shortened);
}

const dropDisabledOf = ({ typeRef, context }: KindSubject): DropDisabled | undefined =>
  dropDisabledFields(GATED_FIELDS[typeRef] ?? [], contextWith(context).gates);

/** The changed object as it is after its creation was prepared. */
export function created(subject: KindSubject, changes: Changes = {}): ApiObject {
  const object = objectWith(subject, changes);
  if (subject.entry.parts?.['status'] !== undefined) object['status'] = {};
  subject.entry.strategy.prepareForCreate?.(object, contextWith(subject.context));
  dropDisabledOf(subject)?.(object);
  return object;
}

/** Returns the object after an update through a subresource, and the errors. */
export function throughPart(
  subject: KindSubject,
  part: string,
  changes: Changes,
  before: Changes = {},
): { readonly object: ApiObject; readonly errors: readonly string[] } {
  const context = contextWith(subject.context);
  const old = objectWith(subject, before);
  const object = objectWith(subject, { ...before, ...changes });
  const strategy = subject.entry.parts?.[part];
  strategy?.prepareForUpdate(object, old, context);
  dropDisabledOf(subject)?.(object, old);
  return { object, errors: (strategy?.validateUpdate?.(object, old, context) ?? []).map(shortened) };
}

/** The cells of the changed object's row. */
export function rowOf(subject: KindSubject, changes: Changes = {}): readonly unknown[] {
  const { vocabulary, nowMs } = contextWith(subject.context);
  return subject.entry.strategy.row?.(objectWith(subject, changes), { nowMs, vocabulary }) ?? [];
}
