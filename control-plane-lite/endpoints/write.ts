/** create, update and patch. Source: writes and patches, document 1 §4.2, §4.8 and §4.9. */

import { copyJson } from '#api/codec/copy-json.ts';
import type { Steps } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import { applyPatchObject } from '../apply/apply-patch.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import { finishSteps, LARGE_BYTES, yieldToEventLoop } from '../kit/yield.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import type { CreatingChange, PureChange } from '../verbs/contract.ts';
import type { BodyTarget, PatchBody } from './content.ts';
import { callerOf, type EndpointDeps, refOf } from './deps.ts';
import { booleanParameter, parseWriteQuery, type WriteQuery } from './query.ts';

export const targetOf = ({ schema, info }: Resource): BodyTarget => ({
  schema,
  apiVersion: apiVersionOf(info),
  kind: info.kind,
});

/** Derived from a parsed body. */
function hasLargeBody(request: ApiRequest): boolean | Promise<boolean> {
  const { 'content-length': length, 'content-encoding': encoding } = request.headers;
  if (encoding === undefined && length !== undefined && Number(length) < LARGE_BYTES) return false;
  return request.readBody().then((body) => body.length >= LARGE_BYTES);
}

export async function createEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'CreateOptions');
  const errors: FieldError[] = [];
  const object = await deps.content.readObject(request, targetOf(resource), query.fieldValidation, errors);
  const isLarge = await hasLargeBody(request);
  const outcome = await deps.verbs.create({
    ...query,
    ref: refOf(request, resource),
    object,
    errors,
    isLarge,
    caller: callerOf(request),
  });
  return deps.content.object(request, resource, 201, outcome);
}

/** `subresource`: one that returns its parent, such as `status`. */
export async function updateEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'UpdateOptions');
  const errors: FieldError[] = [];
  const given = await deps.content.readObject(request, targetOf(resource), query.fieldValidation, errors);
  const { subresource } = request.info;
  const mayCreate = subresource === '' && (resource.stored ?? resource).strategy.createOnUpdate === true;
  const write = {
    ...query,
    ref: refOf(request, resource),
    // Each attempt works on its own copy.
    change: () => copyJson(given),
    errors,
    isLarge: await hasLargeBody(request),
    caller: callerOf(request),
  };
  const part = subresource === '' ? {} : { subresource };
  const outcome = await deps.verbs.update(
    mayCreate ? { ...write, allowCreate: true } : { ...write, ...part },
  );
  return deps.content.object(request, resource, outcome.created === true ? 201 : 200, outcome);
}

export async function patchEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'PatchOptions');
  const patch = await deps.content.readPatch(request, query.fieldValidation, resource);
  const force = checkForce(request, patch);
  const errors: FieldError[] = [];
  const isLarge = await hasLargeBody(request);
  const outcome = await deps.verbs.update({
    ...query,
    ...changeOf(deps, request, resource, patch, { query, force, errors }),
    ref: refOf(request, resource),
    errors,
    isLarge,
    caller: callerOf(request),
  });
  return deps.content.object(request, resource, outcome.created === true ? 201 : 200, outcome);
}

/** @throws StatusError Invalid if force is given without apply, or apply without a manager */
export function checkForce({ query }: ApiRequest, { type }: PatchBody): boolean {
  const subject = { group: '', name: 'PatchOptions' };
  if (type === 'apply') {
    if ((query.get('fieldManager') ?? '') === '') {
      throw invalid(subject, '', [
        { kind: 'FieldValueRequired', field: 'fieldManager', detail: 'is required for apply patch' },
      ]);
    }
    return booleanParameter(query, 'force');
  }
  if (query.has('force')) {
    throw invalid(subject, '', [
      { kind: 'FieldValueForbidden', field: 'force', detail: 'may not be specified for non-apply patch' },
    ]);
  }
  return false;
}

interface PatchTerms {
  readonly query: WriteQuery;
  readonly force: boolean;
  /** FieldErrors of the last attempt, reported with the validation errors. */
  readonly errors: FieldError[];
}

/** Only an apply of a whole object may create it. */
type PatchChange =
  | { readonly change: CreatingChange; readonly manage: 'apply'; readonly allowCreate: true }
  | { readonly change: CreatingChange; readonly manage: 'apply'; readonly subresource: string }
  | { readonly change: PureChange; readonly subresource?: string };

function changeOf(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
  patch: PatchBody,
  { query, force, errors }: PatchTerms,
): PatchChange {
  const { subresource } = request.info;
  const target = targetOf(resource);
  const check = (value: unknown, inSlices: boolean, known?: ApiObject): Steps<ApiObject> =>
    deps.content.checkObject(request, value, target, query.fieldValidation, {
      words: errors,
      known,
      inSlices,
    });
  if (patch.type !== 'apply') {
    const change: PureChange = {
      pure(live, known, isLarge) {
        errors.length = 0;
        return patchSteps(live, { patch, resource, check: (value) => check(value, isLarge, known) });
      },
    };
    return subresource === '' ? { change } : { change, subresource };
  }
  const change: CreatingChange = async (live, isLarge = false) => {
    errors.length = 0;
    const steps = applyPatchObject({
      live,
      applied: patch.value,
      model: resource.schema.model,
      manager: query.fieldManager,
      force,
      nowMs: deps.clock.now(),
      apiVersion: target.apiVersion,
      subresource,
      hasStatus: resource.info.subresources.has('status'),
      statusHasMetadata: resource.parts['status']?.changesMetadata === true,
      canonical: (last) => resource.schema.decode(last).object,
    });
    const { object, changed } = await finishSteps(steps, isLarge);
    if (isLarge) await yieldToEventLoop();
    if (!changed && live !== undefined) return live;
    checkAppliedName(request, resource, object);
    return finishSteps(check(object, isLarge), isLarge);
  };
  return subresource === ''
    ? { change, manage: 'apply', allowCreate: true }
    : { change, manage: 'apply', subresource };
}

/** An applied object may omit its name and namespace, but not contradict the path. The path of a namespace
 *  has its name where others have that of their namespace. */
function checkAppliedName({ info }: ApiRequest, resource: Resource, { metadata }: ApiObject): void {
  metadata.name ??= info.name;
  if (resource.info.namespaced) metadata.namespace ??= info.namespace;
}

interface PatchWork {
  readonly patch: PatchBody;
  readonly resource: Resource;
  readonly check: (value: unknown) => Steps<ApiObject>;
}

/** A generator at the top level: V8 allocates the map of a nested one for each closure in its old generation, and
 *  the map holds the variables of the request (0063). */
function* patchSteps(live: ApiObject, { patch, resource, check }: PatchWork): Steps<ApiObject> {
  const value = yield* patched(live, patch, resource);
  yield;
  return yield* check(value);
}

function* patched(live: ApiObject, { type, value }: PatchBody, resource: Resource): Steps<unknown> {
  switch (type) {
    case 'json':
      return yield* applyJsonPatch(live, value);
    case 'merge':
      return applyMergePatch(live, value);
    case 'strategic':
      return applyStrategicMergePatch(live, value, resource.schema.model);
    case 'apply':
      throw new Error('an apply patch cannot be handled as a plain patch');
    default:
      return type satisfies never;
  }
}
