/** create: a new object, with the client's or a generated name. Source: creation and names, document 1 §4.2
 *  and §2.1. */

import { finishInTurns, type Steps } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { alreadyExists, invalid } from '#api/meta/status-errors.ts';
import { boundedFieldErrors, boundedFieldErrorsSteps } from '#api/schema/validation/field-errors.ts';
import { finishSteps, LARGE_BYTES, type Turn, turnOf } from '../kit/yield.ts';
import type { ApiObject, StrategyContext } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import { generateName } from '../resources/generate-name.ts';
import { createChecks, prepareForCreate } from '../resources/generic.ts';
import { checkSizeSteps } from '../resources/object-size.ts';
import {
  completeDraft,
  isStoredVersion,
  shownDecision,
  toDecidingVersion,
  toStoredForm,
} from '../resources/storage-versions.ts';
import type { CreateWrite, ObjectRef, Outcome } from './contract.ts';
import {
  admissionRequest,
  bytesOf,
  bytesSteps,
  decidingResource,
  kindSubject,
  newUid,
  resourceSubject,
  shownWritten,
  storedNow,
  storeKey,
  strategyContext,
  type VerbDeps,
  type Written,
  withReadErrors,
  withResourceVersion,
  writeToStore,
} from './deps.ts';
import type { Attempt } from './live.ts';

/** Retries with another generated name if one exists already. */
const MAX_NAME_TRIES = 8;

/** @throws StatusError AlreadyExists, Invalid, BadRequest, or admission's error */
export async function createObject(deps: VerbDeps, write: CreateWrite): Promise<Outcome> {
  const attempt = await attemptCreate(deps, write);
  if (attempt.kind === 'done') return attempt.result;
  throw alreadyExists(resourceSubject(write.ref.resource), write.object.metadata.name ?? '');
}

/** Returns `raced` if an object of that name exists.
 *  @throws StatusError Invalid, BadRequest, or admission's error */
export async function attemptCreate(deps: VerbDeps, write: CreateWrite): Promise<Attempt<Outcome>> {
  const { ref, object } = write;
  let { isLarge = false } = write;
  checkTarget(ref, object);
  const { resource } = ref;
  const context = strategyContext(deps, write);
  const turn = turnOf(write.caller);
  decidingResource(resource).strategy.normalize?.(object);
  if (isLarge) await turn();
  // Fields that admission adds have no manager, as upstream.
  if (write.fieldManager !== '') {
    const tracked = finishSteps(track(deps, write, context), isLarge, turn);
    if (tracked !== undefined) await tracked;
  }
  if (isLarge) await finishInTurns(checkSizeSteps(resource.schema, object), turn);
  const mutated = admissionRequest('CREATE', write, { object, old: undefined });
  await deps.admission.mutate(mutated);
  isLarge ||= mutated.isLarge === true;
  const generated = (object.metadata.name ?? '') === '' && (object.metadata.generateName ?? '') !== '';
  if (generated) object.metadata.name = generateName(object.metadata.generateName ?? '');
  if (isLarge) await turn();
  const draft = await toDecidingVersion(resource, object);
  const base = decidingResource(resource);
  if (isLarge) await turn();
  prepareForCreate(base, draft, context, newUid(deps));
  if (isLarge) await turn();
  completeDraft(base, draft);
  if (isLarge) await turn();
  const checks = createChecks(base, draft, context);
  const found = isLarge
    ? await finishInTurns(boundedFieldErrorsSteps(checks), turn)
    : boundedFieldErrors(checks);
  if (isLarge) await turn();
  const { validateInTurns } = base.strategy;
  const late = validateInTurns === undefined ? [] : await validateInTurns(draft, context);
  const errors = withReadErrors(write, [...found, ...late]);
  if (errors.length > 0) throw invalid(kindSubject(resource), draft.metadata.name ?? '', errors);
  const named = { ...ref, name: draft.metadata.name ?? '' };
  await deps.admission.validate(
    admissionRequest('CREATE', { ...write, isLarge, ref: named }, { object: draft, old: undefined }),
  );
  for (const text of base.strategy.warnings?.(draft, undefined) ?? []) write.caller.warn(text);
  if (write.dryRun) {
    const current = await deps.store.get(storeKey(named));
    if (current !== undefined) return { kind: 'raced', current };
    return { kind: 'done', result: { object: await shownDecision(resource, draft), created: true, isLarge } };
  }
  if (isLarge) await turn();
  return store(deps, named, draft, context, { generated, isLarge, turn });
}

/** @throws StatusError if the body belongs to another namespace or was stored before */
function checkTarget(ref: ObjectRef, { metadata }: ApiObject): void {
  const given = metadata.namespace ?? '';
  if (given !== '' && given !== ref.namespace) {
    throw new StatusError(
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  const version = metadata.resourceVersion ?? '';
  if (version !== '' && version !== '0') {
    throw new StatusError('BadRequest', 'resourceVersion should not be set on objects to be created');
  }
}

function track(
  deps: VerbDeps,
  { ref: { resource }, object, fieldManager, isLarge = false }: CreateWrite,
  { nowMs }: StrategyContext,
): Steps<void> {
  return deps.track({
    live: undefined,
    next: object,
    model: resource.schema.model,
    manager: fieldManager,
    apiVersion: apiVersionOf(resource.info),
    subresource: '',
    hasStatus: resource.info.subresources.has('status'),
    statusHasMetadata: resource.parts['status']?.changesMetadata === true,
    nowMs,
    inSlices: isLarge,
  });
}

interface StoreTerms {
  readonly generated: boolean;
  readonly isLarge: boolean;
  /** Is waited for between two steps on a large object; it ends the work of a client that is gone. */
  readonly turn: Turn;
}

async function store(
  deps: VerbDeps,
  ref: ObjectRef,
  first: ApiObject,
  context: StrategyContext,
  { generated, isLarge, turn }: StoreTerms,
): Promise<Attempt<Outcome>> {
  const { resource } = ref;
  let draft = first;
  const release = await decidingResource(resource).strategy.reserve?.(draft, undefined, context);
  try {
    for (let attempt = 1; ; attempt += 1) {
      const named = { ...ref, name: draft.metadata.name ?? '' };
      const stored = await toStoredForm(resource, draft, isLarge ? turn : undefined);
      if (isLarge) await turn();
      const key = storeKey(named);
      const bytes = isLarge
        ? await finishInTurns(bytesSteps(deps, named, stored), turn)
        : bytesOf(deps, named, stored);
      if (bytes.length >= LARGE_BYTES) await turn();
      const result = await writeToStore(() => deps.store.put(key, bytes, 'absent'));
      if (result.ok) {
        const written = { bytes, object: stored };
        return {
          kind: 'done',
          result: { ...(await outcome(deps, named, written, result.revision, isLarge)), isLarge },
        };
      }
      if (!generated || attempt === MAX_NAME_TRIES) {
        await release?.();
        return { kind: 'raced', current: result.current };
      }
      draft = renamed(draft);
      decidingResource(resource).strategy.renamed?.(draft, named.name);
    }
  } catch (thrown) {
    await release?.();
    throw thrown;
  }
}

async function outcome(
  deps: VerbDeps,
  ref: ObjectRef,
  written: Written,
  revision: number,
  isLarge: boolean,
): Promise<Outcome> {
  const stored = isStoredVersion(ref.resource) ? storedNow(deps, ref, revision, written) : undefined;
  const shown = await shownWritten(ref.resource, withResourceVersion(written.object, revision), isLarge);
  return { object: shown, created: true, ...(stored === undefined ? {} : { stored }) };
}

/** Returns the same object under another generated name. */
function renamed(draft: ApiObject): ApiObject {
  const name = generateName(draft.metadata.generateName ?? '');
  return { ...draft, metadata: { ...draft.metadata, name } };
}
