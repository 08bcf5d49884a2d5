/** update and patch: read, change, validate, compare and swap, with retries on conflicts.
 *  Source: writes, document 1 §4.2; optimistic concurrency as in upstream's registry. */

import { copyJson, copyJsonSteps } from '#api/codec/copy-json.ts';
import { finish, finishInTurns } from '#api/kit/steps.ts';
import { invalid, notFound } from '#api/meta/status-errors.ts';
import { boundedFieldErrors, boundedFieldErrorsSteps } from '#api/schema/validation/field-errors.ts';
import type { AdmissionRequest } from '../admission/contract.ts';
import { finishSteps, LARGE_BYTES, type Turn, turnOf } from '../kit/yield.ts';
import type { ApiObject, Resource, StrategyContext } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import { prepareForUpdate, updateChecks } from '../resources/generic.ts';
import { checkSizeSteps } from '../resources/object-size.ts';
import {
  completeDraft,
  completedStored,
  fromStorageVersion,
  isStoredVersion,
  shownDecision,
  toDecidingVersion,
  toStoredForm,
} from '../resources/storage-versions.ts';
import { type Tried, tryUntilDone } from './attempts.ts';
import { checkName, checkSameObject } from './check-object.ts';
import type { Outcome, UpdateWrite } from './contract.ts';
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
  shownWritten,
  storedNow,
  storeKey,
  strategyContext,
  type VerbDeps,
  withReadErrors,
  withResourceVersion,
  writeToStore,
} from './deps.ts';
import { type Attempt, isSame, isSameSteps, type Live, loaded } from './live.ts';

/** @throws StatusError NotFound, Conflict, Invalid, or the error of the change or of admission */
export async function updateObject(deps: VerbDeps, write: UpdateWrite): Promise<Outcome> {
  const attempt = (live: Live | undefined, tried: Tried): Promise<Attempt<Outcome>> =>
    live === undefined ? create(deps, write) : attemptUpdate(deps, write, live, tried);
  return await tryUntilDone(deps, write, attempt);
}

/** Input of the steps of an attempt. */
interface Start {
  /** Large, once a webhook has made the object large. */
  write: UpdateWrite;
  readonly live: Live;
  readonly tried: Tried;
  readonly context: StrategyContext;
  /** Lets others have a turn of the event loop. @throws StatusError once the caller has gone */
  readonly turn: Turn;
}

async function create(deps: VerbDeps, write: UpdateWrite): Promise<Attempt<Outcome>> {
  const { ref, caller, dryRun, errors = [], isLarge = false } = write;
  if (write.allowCreate !== true) throw notFound(resourceSubject(ref.resource), ref.name);
  const object = await write.change(undefined, isLarge);
  checkName(ref, object);
  const { resourceVersion = '', uid = '' } = object.metadata;
  if ((resourceVersion !== '' && resourceVersion !== '0') || uid !== '') {
    throw notFound(resourceSubject(ref.resource), ref.name);
  }
  delete object.metadata.resourceVersion;
  // An apply has recorded the ownership of its fields already.
  const fieldManager = write.manage === 'apply' ? '' : write.fieldManager;
  return attemptCreate(deps, { ref, caller, dryRun, errors, isLarge, object, fieldManager });
}

async function attemptUpdate(
  deps: VerbDeps,
  given: UpdateWrite,
  found: Live,
  tried: Tried,
): Promise<Attempt<Outcome>> {
  const { resource } = given.ref;
  const base = decidingResource(resource);
  const isLarge = given.isLarge === true || found.json.length >= LARGE_BYTES;
  const write = isLarge === (given.isLarge ?? false) ? given : { ...given, isLarge };
  const turn = turnOf(given.caller);
  const live = isLarge ? await loaded(found, turn) : found;
  const start = { write, live, tried, context: strategyContext(deps, write), turn };
  if (isLarge) await turn();
  const stored = storedOf(resource, live);
  const served = isStoredVersion(resource) ? stored : await servedOf(resource, stored, isLarge, turn);
  const old = resource.decidesInServed === true ? served : stored;
  if (isLarge) await turn();
  const changed = await changedOf(start, served);
  if (isLarge) await turn();
  const draft = await draftOf(deps, start, served, changed);
  // A webhook may have made it large.
  const { isLarge: isLargeNow = false } = start.write;
  if (isLargeNow) await turn();
  await prepare(deps, start, draft, old);
  if (isLargeNow) await turn();
  if (write.dryRun)
    return {
      kind: 'done',
      result: {
        object: await shownDecision(resource, withResourceVersion(draft, live.revision)),
        isLarge: isLargeNow,
      },
    };
  if (isRemovable(draft, base)) return remove(deps, start, old, draft);
  return replace(deps, start, old, draft);
}

/** The live object in canonical form. */
const storedOf = (resource: Resource, live: Live): ApiObject =>
  live.madeHere ? live.object() : completedStored(resource, live.object());

/** A copy in the version of the request. */
async function servedOf(
  resource: Resource,
  stored: ApiObject,
  isLarge: boolean,
  turn: Turn,
): Promise<ApiObject> {
  if (isLarge) await turn();
  const copy = isLarge ? await finishInTurns(copyJsonSteps(stored), turn) : copyJson(stored);
  return fromStorageVersion(resource, copy, isLarge ? turn : undefined);
}

/** The change removed the last finalizer or other reason that blocked its deletion. */
async function remove(
  deps: VerbDeps,
  { write: { ref }, live, tried }: Start,
  old: ApiObject,
  draft: ApiObject,
): Promise<Attempt<Outcome>> {
  tried.wrote = true;
  const result = await writeToStore(() => deps.store.delete(storeKey(ref), live.revision));
  if (!result.ok) return { kind: 'raced', current: result.current };
  await decidingResource(ref.resource).strategy.release?.(old);
  const object = await shownDecision(ref.resource, withResourceVersion(draft, result.revision));
  return { kind: 'done', result: { object } };
}

async function replace(
  deps: VerbDeps,
  { write, live, tried, context, turn }: Start,
  old: ApiObject,
  draft: ApiObject,
): Promise<Attempt<Outcome>> {
  const { ref, isLarge = false } = write;
  const release = await decidingResource(ref.resource).strategy.reserve?.(draft, old, context);
  try {
    const stored = await toStoredForm(ref.resource, draft, isLarge ? turn : undefined);
    const key = storeKey(ref);
    if (isLarge) await turn();
    const bytes = isLarge
      ? await finishInTurns(bytesSteps(deps, ref, stored), turn)
      : bytesOf(deps, ref, stored);
    if (isLarge) await turn();
    const isUnchanged = isLarge
      ? await finishInTurns(isSameSteps(bytes, live, stored), turn)
      : isSame(bytes, live, stored);
    if (isUnchanged && deps.store.isStale?.(key) !== true) {
      await release?.();
      return { kind: 'done', result: await outcomeOf(deps, write, live.object(), live.revision) };
    }
    tried.wrote = true;
    const result = await writeToStore(() => deps.store.put(key, bytes, live.revision));
    if (result.ok) {
      await decidingResource(ref.resource).strategy.settle?.(draft, old);
      return { kind: 'done', result: await outcomeOf(deps, write, stored, result.revision, bytes) };
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
  { write: { ref, change, isLarge = false }, live, turn }: Start,
  served: ApiObject,
): ApiObject | Promise<ApiObject> {
  if (typeof change === 'function') {
    if (!isLarge) return change(copyJson(served), false);
    return finishInTurns(copyJsonSteps(served), turn).then((copy) => change(copy, true));
  }
  const { resource } = ref;
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
  start: Start,
  served: ApiObject,
  draft: ApiObject,
): Promise<ApiObject> {
  const { write, context, turn } = start;
  const { ref, subresource = '' } = write;
  const { resource } = ref;
  checkSameObject(ref, draft, served, subresource);
  const isLarge = await mutate(deps, write, draft, served);
  if (isLarge !== (write.isLarge ?? false)) start.write = { ...write, isLarge };
  checkResourceVersion(draft, served, ref);
  decidingResource(resource).strategy.normalize?.(draft);
  if (write.manage !== 'apply') {
    if (isLarge) await turn();
    const steps = deps.track({
      live: served,
      next: draft,
      model: resource.schema.model,
      manager: write.fieldManager,
      apiVersion: apiVersionOf(resource.info),
      subresource,
      hasStatus: resource.info.subresources.has('status'),
      statusHasMetadata: resource.parts['status']?.changesMetadata === true,
      nowMs: context.nowMs,
      inSlices: isLarge,
    });
    const tracked = finishSteps(steps, isLarge, turn);
    if (tracked !== undefined) await tracked;
  }
  return toDecidingVersion(resource, draft);
}

/** Returns the admission attributes of a change. */
function requestOf(write: UpdateWrite, draft: ApiObject, old: ApiObject): AdmissionRequest {
  const { view } = write;
  if (view === undefined) return admissionRequest('UPDATE', write, { object: draft, old });
  const { schema } = view;
  return admissionRequest('UPDATE', write, { object: view.see(draft), old: view.see(old), schema });
}

/** Returns whether the object is large now. */
async function mutate(
  deps: VerbDeps,
  write: UpdateWrite,
  draft: ApiObject,
  old: ApiObject,
): Promise<boolean> {
  if (write.admitted === true) return write.isLarge === true;
  const request = requestOf(write, draft, old);
  await deps.admission.mutate(request);
  if (request.object !== undefined) write.view?.put(draft, request.object);
  return request.isLarge === true;
}

async function prepare(
  deps: VerbDeps,
  { write, context, turn }: Start,
  draft: ApiObject,
  old: ApiObject,
): Promise<void> {
  const { ref, subresource = '', isLarge = false } = write;
  const base = decidingResource(ref.resource);
  if (isLarge) await finishInTurns(checkSizeSteps(base.schema, draft), turn);
  prepareForUpdate(base, draft, old, context, subresource);
  if (isLarge) await turn();
  completeDraft(base, draft, old);
  if (isLarge) await turn();
  const checks = updateChecks(base, draft, old, context, subresource);
  const found = isLarge
    ? await finishInTurns(boundedFieldErrorsSteps(checks), turn)
    : boundedFieldErrors(checks);
  if (isLarge) await turn();
  const { validateInTurns } = base.strategy;
  const late =
    validateInTurns === undefined || subresource !== '' ? [] : await validateInTurns(draft, context);
  const errors = withReadErrors(write, [...found, ...late]);
  if (errors.length > 0) throw invalid(kindSubject(ref.resource), ref.name, errors);
  if (write.admitted !== true) await deps.admission.validate(requestOf(write, draft, old));
  for (const text of base.strategy.warnings?.(draft, old) ?? []) write.caller.warn(text);
}

async function outcomeOf(
  deps: VerbDeps,
  { ref, isLarge = false }: Pick<UpdateWrite, 'ref' | 'isLarge'>,
  object: ApiObject,
  revision: number,
  bytes?: Buffer,
): Promise<Outcome> {
  const written = bytes === undefined ? undefined : { bytes, object };
  const stored = isStoredVersion(ref.resource) ? storedNow(deps, ref, revision, written) : undefined;
  return {
    object: await shownWritten(ref.resource, withResourceVersion(object, revision), isLarge),
    ...(stored === undefined ? {} : { stored }),
  };
}
