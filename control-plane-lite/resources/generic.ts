/** Create and update behaviour of every kind: metadata, status apart from spec, generation. Strategies add
 *  what is specific to their kind. Pure; changes only the draft. Source: object lifecycle, document 1
 *  §2.1. */

import { isDeepStrictEqual } from 'node:util';
import { copyJson } from '#api/codec/copy-json.ts';
import { nextInt64 } from '#api/kit/int64.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { formatTime } from '#api/meta/time.ts';
import { createBoundedFieldErrors, type FieldCheck } from '#api/schema/validation/field-errors.ts';
import { validateMetadata } from '#api/schema/validation/metadata.ts';
import type { ApiObject, Resource, StrategyContext } from './contract.ts';

/** Members of metadata that only the server sets; an update has them as they were. */
const SERVER_SET = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'selfLink',
] as const;

/** Subresources through which the server itself changes the object, after its own validation. */
const MADE_BY_US: ReadonlySet<string> = new Set(['binding']);

/** Reports whether the request is for the object itself, or for a subresource that represents a part of it. */
const isWhole = (subresource: string): boolean => subresource === '' || subresource === 'scale';

const hasStatusPart = ({ info }: Resource): boolean => info.subresources.has('status');

const countsGeneration = ({ strategy }: Resource, object: ApiObject): boolean =>
  strategy.countsGeneration ?? 'spec' in object;

/** Prepares a new object: sets its identity and timestamps, and clears fields that only the server sets. */
export function prepareForCreate(
  resource: Resource,
  draft: ApiObject,
  context: StrategyContext,
  uid: string,
): void {
  const { metadata } = draft;
  for (const member of SERVER_SET) delete metadata[member];
  delete metadata.resourceVersion;
  metadata.uid = uid;
  metadata.creationTimestamp = formatTime(context.nowMs);
  if (resource.info.namespaced) metadata.namespace = context.namespace;
  if (countsGeneration(resource, draft)) metadata.generation = 1;
  if (hasStatusPart(resource) && resource.strategy.keepsStatusOnCreate !== true) draft['status'] = {};
  resource.strategy.prepareForCreate?.(draft, context);
  resource.dropDisabled?.(draft);
}

/** Returns the checks of a new object, for `boundedFieldErrors`. */
export function createChecks(
  resource: Resource,
  object: ApiObject,
  context: StrategyContext,
): readonly FieldCheck[] {
  const { strategy } = resource;
  return [
    () => metadataErrors(resource, object),
    () => strategy.validate?.(object, context) ?? [],
    () => strategy.validateCreate?.(object, context) ?? [],
    () => resource.policyErrors?.(object) ?? [],
  ];
}

function metadataErrors({ info, strategy }: Resource, object: ApiObject): readonly FieldError[] {
  const { nameErrors } = strategy;
  return validateMetadata(object.metadata, {
    namespaced: info.namespaced,
    ...(nameErrors === undefined ? {} : { nameErrors }),
  });
}

/** A changed object keeps what only the server sets; through the main resource it keeps its status, through a part
 *  everything but the part. */
export function prepareForUpdate(
  resource: Resource,
  draft: ApiObject,
  old: ApiObject,
  context: StrategyContext,
  subresource: string,
): void {
  for (const member of SERVER_SET) keep(draft, old, member);
  if (MADE_BY_US.has(subresource)) return;
  if (isWhole(subresource)) {
    if (hasStatusPart(resource)) copyMember(draft, old, 'status');
    resource.strategy.prepareForUpdate?.(draft, old, context);
    resource.dropDisabled?.(draft, old);
    raiseGeneration(resource, draft, old);
    return;
  }
  const part = resource.parts[subresource];
  if (part === undefined) keepAllBut(draft, old, subresource);
  else part.prepareForUpdate(draft, old, context);
  resource.dropDisabled?.(draft, old);
}

type ServerSet = (typeof SERVER_SET)[number];

/** Clients may omit these members; `updateErrors` rejects changes. */
function keep(draft: ApiObject, old: ApiObject, member: ServerSet): void {
  const { metadata } = draft;
  const before = old.metadata[member];
  const mayDiffer = member !== 'generation' && member !== 'selfLink' && metadata[member] !== undefined;
  if (mayDiffer) return;
  delete metadata[member];
  if (before !== undefined) Object.assign(metadata, { [member]: before });
}

function copyMember(draft: ApiObject, old: ApiObject, member: string): void {
  if (draft[member] !== undefined && draft[member] === old[member]) return;
  if (Object.hasOwn(old, member)) draft[member] = copyJson(old[member]);
  else delete draft[member];
}

/** A part of the name of a member: only that member changes, besides managedFields. */
export function keepAllBut(draft: ApiObject, old: ApiObject, part: string): void {
  const { resourceVersion, managedFields } = draft.metadata;
  const changed = draft[part];
  for (const member of Object.keys(draft)) delete draft[member];
  Object.assign(draft, copyJson(old));
  if (changed === undefined) delete draft[part];
  else draft[part] = changed;
  if (resourceVersion !== undefined) draft.metadata.resourceVersion = resourceVersion;
  if (managedFields !== undefined) draft.metadata.managedFields = managedFields;
}

function raiseGeneration(resource: Resource, draft: ApiObject, old: ApiObject): void {
  if (!countsGeneration(resource, draft)) return;
  const differs = resource.strategy.generationChanged ?? ((a, b) => !isDeepStrictEqual(a['spec'], b['spec']));
  if (differs(draft, old)) draft.metadata.generation = nextInt64(old.metadata.generation ?? 0);
}

const IMMUTABLE = 'field is immutable';

/** Returns the checks of an update, including those of the updated object, for `boundedFieldErrors`. */
export function updateChecks(
  resource: Resource,
  object: ApiObject,
  old: ApiObject,
  context: StrategyContext,
  subresource: string,
): readonly FieldCheck[] {
  const common = [() => metadataErrors(resource, object), () => metadataChangeErrors(object, old)];
  if (MADE_BY_US.has(subresource)) return common;
  if (!isWhole(subresource)) {
    const part = resource.parts[subresource];
    return [...common, () => part?.validateUpdate?.(object, old, context) ?? []];
  }
  const { strategy } = resource;
  return [
    ...common,
    () => strategy.validate?.(object, context, old) ?? [],
    () => strategy.validateUpdate?.(object, old, context) ?? [],
    () => resource.policyErrors?.(object) ?? [],
  ];
}

function metadataChangeErrors(object: ApiObject, old: ApiObject): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const { metadata } = object;
  for (const member of ['name', 'namespace', 'uid', 'creationTimestamp', 'deletionTimestamp'] as const) {
    if ((metadata[member] ?? '') !== (old.metadata[member] ?? '')) {
      errors.invalid(`metadata.${member}`, metadata[member] ?? '', IMMUTABLE);
    }
  }
  const grace = metadata.deletionGracePeriodSeconds;
  if (grace !== old.metadata.deletionGracePeriodSeconds) {
    errors.invalid('metadata.deletionGracePeriodSeconds', grace ?? null, IMMUTABLE);
  }
  if (old.metadata.deletionTimestamp !== undefined) {
    const before = new Set(old.metadata.finalizers ?? []);
    const added = (metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
    if (added.length > 0) {
      errors.forbidden(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`,
      );
    }
  }
  return errors.all;
}
