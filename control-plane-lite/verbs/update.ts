/** update and patch: read, change, validate, compare and swap, with retries on conflicts.
 *  Source: writes, document 1 §4.2; optimistic concurrency as in upstream's registry. */

import { copyJson, copyJsonSteps } from '#api/codec/copy-json.ts';
import { finish, finishInTurns, type Steps } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { invalid, notFound } from '#api/meta/status-errors.ts';
import type { AdmissionRequest } from '../admission/contract.ts';
import { lengthWithoutRevision, withoutRevision } from '../cache/state/stored-form.ts';
import { finishSteps, LARGE_BYTES, type Turn, turnOf } from '../kit/yield.ts';
import { sameJson, sameJsonSteps } from '../patch/json-value.ts';
import type { ApiObject, Resource, StrategyContext } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import { prepareForUpdate, validateUpdate } from '../resources/generic.ts';
import { checkSizeSteps } from '../resources/object-size.ts';
import {
  completeDraft,
  completedStored,
  fromStorageVersion,
  isStoredVersion,
  shownDecision,
  shownOf,
  toDecidingVersion,
  toStoredForm,
} from '../resources/storage-versions.ts';
import { type Tried, tryUntilDone } from './attempts.ts';
import type { Caller, Change, ObjectRef, Outcome, PureChange, UpdateOptions } from './contract.ts';
import { attemptCreate } from './create.ts';
import { isRemovable } from './decide-deletion.ts';
import {
  admissionRequest,
  bytesOf,
  bytesSteps,
  checkResourceVersion,
  decidingResource,
  kindSubject,
  resourceSubject,
  storedNow,
  storeKey,
  strategyContext,
  type VerbDeps,
  withReadFaults,
  withResourceVersion,
  write,
} from './deps.ts';
import { type Attempt, type Live, loaded } from './live.ts';

/** @throws StatusError NotFound, Conflict, Invalid, or the error of the change or of admission */
export async function updateObject(
  deps: VerbDeps,
  ref: ObjectRef,
  change: Change | PureChange,
  options: UpdateOptions,
  caller: Caller,
): Promise<Outcome> {
  const attempt = (live: Live | undefined, tried: Tried): Promise<Attempt<Outcome>> =>
    live === undefined
      ? create(deps, ref, change, options, caller)
      : attemptUpdate(deps, ref, { live, tried }, change, options, caller);
  return await tryUntilDone(deps, ref, attempt, options);
}

/** Input of an attempt. */
interface Start {
  readonly live: Live;
  readonly tried: Tried;
}

async function create(
  deps: VerbDeps,
  ref: ObjectRef,
  change: Change | PureChange,
  options: UpdateOptions,
  caller: Caller,
): Promise<Attempt<Outcome>> {
  if (!options.allowCreate || typeof change !== 'function') {
    throw notFound(resourceSubject(ref.resource), ref.name);
  }
  const object = await change(undefined, options.isLarge ?? false);
  checkName(ref, object);
  const { resourceVersion = '', uid = '' } = object.metadata;
  if ((resourceVersion !== '' && resourceVersion !== '0') || uid !== '') {
    throw notFound(resourceSubject(ref.resource), ref.name);
  }
  delete object.metadata.resourceVersion;
  const manager = options.manage === 'apply' ? { fieldManager: '' } : {};
  return attemptCreate(deps, ref, object, { ...options, ...manager }, caller);
}

async function attemptUpdate(
  deps: VerbDeps,
  ref: ObjectRef,
  given: Start,
  change: Change | PureChange,
  options: UpdateOptions,
  caller: Caller,
): Promise<Attempt<Outcome>> {
  const base = decidingResource(ref.resource);
  const context = strategyContext(deps, ref, options.dryRun, caller);
  const { resource } = ref;
  const isLarge = options.isLarge === true || given.live.json.length >= LARGE_BYTES;
  const large = isLarge === (options.isLarge ?? false) ? options : { ...options, isLarge };
  const turn = turnOf(caller);
  const live = isLarge ? await loaded(given.live, turn) : given.live;
  const start = isLarge ? { ...given, live } : given;
  if (isLarge) await turn();
  const stored = storedOf(resource, live);
  const served = isStoredVersion(resource) ? stored : await servedOf(resource, stored, isLarge, turn);
  const old = resource.decidesInServed === true ? served : stored;
  if (isLarge) await turn();
  const changed = await changedOf(resource, live, served, change, isLarge, turn);
  if (isLarge) await turn();
  const draft = await draftOf(deps, ref, served, changed, large, caller, context);
  if (isLarge) await turn();
  await prepare(deps, ref, draft, old, large, context, caller);
  if (isLarge) await turn();
  if (options.dryRun)
    return {
      kind: 'done',
      result: { object: await shownDecision(resource, withResourceVersion(draft, live.revision)), isLarge },
    };
  if (isRemovable(draft, base)) return remove(deps, ref, start, old, draft);
  return replace(deps, ref, start, { old, draft, context, isLarge, turn });
}

/** The live object in canonical form. */
const storedOf = (resource: Resource, live: Live): ApiObject =>
  live.madeHere ? live.object() : completedStored(resource, live.object());

/** A copy in the version that the client asked for. */
async function servedOf(
  resource: Resource,
  stored: ApiObject,
  isLarge: boolean,
  turn: Turn,
): Promise<ApiObject> {
  if (isLarge) await turn();
  const copy = isLarge ? await finishInTurns(copyJsonSteps(stored), turn) : copyJson(stored);
  return fromStorageVersion(resource, copy);
}

/** The change removed the last finalizer or other reason that kept the object. */
async function remove(
  deps: VerbDeps,
  ref: ObjectRef,
  { live, tried }: Start,
  old: ApiObject,
  draft: ApiObject,
): Promise<Attempt<Outcome>> {
  tried.wrote = true;
  const result = await write(() => deps.store.delete(storeKey(ref), live.revision));
  if (!result.ok) return { kind: 'raced', current: result.current };
  await decidingResource(ref.resource).strategy.release?.(old);
  const object = await shownDecision(ref.resource, withResourceVersion(draft, result.revision));
  return { kind: 'done', result: { object } };
}

interface Replacing {
  readonly old: ApiObject;
  readonly draft: ApiObject;
  readonly context: StrategyContext;
  readonly isLarge: boolean;
  readonly turn: Turn;
}

async function replace(
  deps: VerbDeps,
  ref: ObjectRef,
  { live, tried }: Start,
  { old, draft, context, isLarge, turn }: Replacing,
): Promise<Attempt<Outcome>> {
  const release = await decidingResource(ref.resource).strategy.reserve?.(draft, old, context);
  try {
    const stored = await toStoredForm(ref.resource, draft);
    const key = storeKey(ref);
    if (isLarge) await turn();
    const bytes = isLarge
      ? await finishInTurns(bytesSteps(deps, key, stored), turn)
      : bytesOf(deps, key, stored);
    if (isLarge) await turn();
    if (isLarge ? await finishInTurns(isSameSteps(bytes, live, stored), turn) : isSame(bytes, live, stored)) {
      await release?.();
      return { kind: 'done', result: await outcomeOf(deps, ref, live.object(), live.revision) };
    }
    tried.wrote = true;
    const result = await write(() => deps.store.put(key, bytes, live.revision));
    if (result.ok) {
      await decidingResource(ref.resource).strategy.settle?.(draft, old);
      return { kind: 'done', result: await outcomeOf(deps, ref, stored, result.revision, bytes) };
    }
    await release?.();
    return { kind: 'raced', current: result.current };
  } catch (thrown) {
    await release?.();
    throw thrown;
  }
}

/** Returns the changed object. Unchanged members are copies, or the live object's own if nothing will modify
 *  them. */
function changedOf(
  resource: Resource,
  live: Live,
  served: ApiObject,
  change: Change | PureChange,
  isLarge: boolean,
  turn: Turn,
): ApiObject | Promise<ApiObject> {
  if (typeof change === 'function') {
    if (!isLarge) return change(copyJson(served), false);
    return finishInTurns(copyJsonSteps(served), turn).then((copy) => change(copy, true));
  }
  const shares = decidingResource(resource).strategy.sharesUntouched === true && isStoredVersion(resource);
  if (shares) {
    return finishSteps(change.pure(served, live.madeHere ? served : undefined, isLarge), isLarge, turn);
  }
  if (!isLarge) return finish(change.pure(copyJson(served), undefined, false));
  const work = (copy: ApiObject): Promise<ApiObject> =>
    finishInTurns(change.pure(copy, undefined, true), turn);
  return finishInTurns(copyJsonSteps(served), turn).then(work);
}

/** Returns the draft in the deciding version, after mutating admission. */
async function draftOf(
  deps: VerbDeps,
  ref: ObjectRef,
  served: ApiObject,
  draft: ApiObject,
  options: UpdateOptions,
  caller: Caller,
  { nowMs }: StrategyContext,
): Promise<ApiObject> {
  const { resource } = ref;
  checkSameObject(ref, draft, served, options.subresource ?? '');
  await mutate(deps, ref, draft, served, options, caller);
  checkResourceVersion(draft, served, ref);
  decidingResource(resource).strategy.normalize?.(draft);
  if (options.manage !== 'apply') {
    const { isLarge = false } = options;
    const turn = turnOf(caller);
    if (isLarge) await turn();
    const steps = deps.track({
      live: served,
      next: draft,
      model: resource.schema.model,
      manager: options.fieldManager,
      apiVersion: apiVersionOf(resource.info),
      subresource: options.subresource ?? '',
      hasStatus: resource.info.subresources.has('status'),
      statusHasMetadata: resource.parts['status']?.changesMetadata === true,
      nowMs,
      inSlices: isLarge,
    });
    const tracked = finishSteps(steps, isLarge, turn);
    if (tracked !== undefined) await tracked;
  }
  return toDecidingVersion(resource, draft);
}

/** Returns the admission attributes of a change. */
function requestOf(
  ref: ObjectRef,
  draft: ApiObject,
  old: ApiObject,
  options: UpdateOptions,
  caller: Caller,
): AdmissionRequest {
  const { view, dryRun, subresource = '' } = options;
  if (view === undefined) {
    return admissionRequest('UPDATE', ref, { object: draft, old }, { dryRun, subresource }, caller);
  }
  const seen = { object: view.see(draft), old: view.see(old) };
  return admissionRequest('UPDATE', ref, seen, { dryRun, subresource, schema: view.schema }, caller);
}

async function mutate(
  deps: VerbDeps,
  ref: ObjectRef,
  draft: ApiObject,
  old: ApiObject,
  options: UpdateOptions,
  caller: Caller,
): Promise<void> {
  if (options.admitted === true) return;
  const request = requestOf(ref, draft, old, options, caller);
  await deps.admission.mutate(request);
  if (request.object !== undefined) options.view?.put(draft, request.object);
}

/** @throws StatusError BadRequest */
function checkName(ref: ObjectRef, { metadata: { name = '' } }: ApiObject): void {
  if (name === ref.name) return;
  throw new StatusError(
    'BadRequest',
    `the name of the object (${name}) does not match the name on the URL (${ref.name})`,
  );
}

/** @throws StatusError if the new object has another name, namespace or identity than the live one */
function checkSameObject(ref: ObjectRef, object: ApiObject, live: ApiObject, subresource: string): void {
  checkName(ref, object);
  const { metadata } = object;
  const { namespace = '', uid = '', resourceVersion = '' } = metadata;
  if (namespace !== ref.namespace && namespace !== '') {
    throw new StatusError(
      'BadRequest',
      `the namespace of the object (${namespace}) does not match the namespace on the URL (${ref.namespace})`,
    );
  }
  if (ref.namespace !== '') metadata.namespace = ref.namespace;
  if (uid !== '' && uid !== live.metadata.uid) {
    const subject = resourceSubject(ref.resource);
    throw new StatusError(
      'Conflict',
      `Operation cannot be fulfilled on ${subject.name} ${JSON.stringify(ref.name)}: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`,
      { details: { name: ref.name, kind: subject.name } },
    );
  }
  const unconditional = decidingResource(ref.resource).strategy.unconditionalUpdate ?? true;
  if (!unconditional && subresource === '' && (resourceVersion === '' || resourceVersion === '0')) {
    throw invalid(kindSubject(ref.resource), ref.name, [
      {
        kind: 'FieldValueInvalid',
        field: 'metadata.resourceVersion',
        badValue: 0,
        detail: 'must be specified for an update',
      },
    ]);
  }
}

async function prepare(
  deps: VerbDeps,
  ref: ObjectRef,
  draft: ApiObject,
  old: ApiObject,
  options: UpdateOptions,
  context: StrategyContext,
  caller: Caller,
): Promise<void> {
  const base = decidingResource(ref.resource);
  const { subresource = '', isLarge = false } = options;
  const turn = turnOf(caller);
  if (isLarge) await finishInTurns(checkSizeSteps(draft), turn);
  prepareForUpdate(base, draft, old, context, subresource);
  if (isLarge) await turn();
  completeDraft(base, draft, old);
  if (isLarge) await turn();
  const found = validateUpdate(base, draft, old, context, subresource);
  if (isLarge) await turn();
  const { validateInTurns } = base.strategy;
  const late =
    validateInTurns === undefined || subresource !== '' ? [] : await validateInTurns(draft, context);
  const faults = withReadFaults(options, [...found, ...late]);
  if (faults.length > 0) throw invalid(kindSubject(ref.resource), ref.name, faults);
  if (options.admitted !== true) await deps.admission.validate(requestOf(ref, draft, old, options, caller));
  for (const text of base.strategy.warnings?.(draft, old) ?? []) caller.warn(text);
}

/** Compares objects regardless of the order of members; the time of a managedFields entry changes only with
 *  its content. */
function isSame(bytes: Buffer, live: Live, stored: ApiObject): boolean {
  if (lengthWithoutRevision(live.json) !== bytes.length) return false;
  return withoutRevision(live.json).equals(bytes) || sameJson(comparable(stored), comparable(live.object()));
}

function* isSameSteps(bytes: Buffer, live: Live, stored: ApiObject): Steps<boolean> {
  if (lengthWithoutRevision(live.json) !== bytes.length) return false;
  if (withoutRevision(live.json).equals(bytes)) return true;
  yield;
  return yield* sameJsonSteps(comparable(stored), comparable(live.object()));
}

function comparable(object: ApiObject): Readonly<Record<string, unknown>> {
  const { resourceVersion: _version, managedFields = [], ...metadata } = object.metadata;
  const managers = managedFields.map(({ time: _time, ...manager }) => manager);
  return { ...object, metadata: { ...metadata, managers } };
}

async function outcomeOf(
  deps: VerbDeps,
  ref: ObjectRef,
  object: ApiObject,
  revision: number,
  bytes?: Buffer,
): Promise<Outcome> {
  const written = bytes === undefined ? undefined : { bytes, object };
  const stored = isStoredVersion(ref.resource) ? storedNow(deps, ref, revision, written) : undefined;
  return {
    object: await shownOf(ref.resource, withResourceVersion(object, revision)),
    ...(stored === undefined ? {} : { stored }),
  };
}
