/** create, update and patch. Source: writes and patches, document 1 §4.2, §4.8 and §4.9. */
import { copyJson, copyJsonSteps } from '#api/codec/copy-json.ts';
import { MemberNames } from '#api/codec/member-names.ts';
import { finishInTurns, type Steps } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import { applyPatchObject } from '../apply/apply-patch.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import { finishSteps, LARGE_BYTES, turnOf } from '../kit/yield.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch, mergePatchSteps } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch, strategicMergeSteps } from '../patch/strategic-merge.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import { checkSizeSteps } from '../resources/object-size.ts';
import type { CreatingChange, PureChange } from '../verbs/contract.ts';
import type { BodyTarget, PatchBody } from './content.ts';
import type { EndpointDeps } from './deps.ts';
import { booleanParameter, callerOf, parseWriteQuery, refOf, type WriteQuery } from './read-request.ts';

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
  if (!(await hasLargeBody(request))) return create(deps, request, resource, query, false);
  return deps.content.whenRoom(request, () => create(deps, request, resource, query, true));
}

async function create(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
  query: WriteQuery,
  isLarge: boolean,
): Promise<ApiResponse> {
  const errors: FieldError[] = [];
  const object = await deps.content.readObject(request, targetOf(resource), query.fieldValidation, errors);
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
  if (!(await hasLargeBody(request))) return update(deps, request, resource, query, false);
  return deps.content.whenRoom(request, () => update(deps, request, resource, query, true));
}

async function update(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
  query: WriteQuery,
  isLarge: boolean,
): Promise<ApiResponse> {
  const errors: FieldError[] = [];
  const given = await deps.content.readObject(request, targetOf(resource), query.fieldValidation, errors);
  const { subresource } = request.info;
  const turn = turnOf(request);
  const mayCreate = subresource === '' && (resource.stored ?? resource).strategy.createOnUpdate === true;
  const write = {
    ...query,
    ref: refOf(request, resource),
    // Each attempt works on its own copy.
    change: (_live: ApiObject | undefined, inSlices = false) =>
      inSlices ? finishSteps(copyJsonSteps(given), true, turn) : copyJson(given),
    errors,
    isLarge,
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
  if (!(await hasLargeBody(request))) return applyPatch(deps, request, resource, query, false);
  return deps.content.whenRoom(request, () => applyPatch(deps, request, resource, query, true));
}

async function applyPatch(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
  query: WriteQuery,
  isLarge: boolean,
): Promise<ApiResponse> {
  const patch = await deps.content.readPatch(request, query.fieldValidation, resource);
  const force = checkForce(request, patch);
  const errors: FieldError[] = [];
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
  const check = (
    value: unknown,
    inSlices: boolean,
    known?: ApiObject,
    names?: MemberNames,
  ): Steps<ApiObject> =>
    deps.content.checkObject(request, value, target, query.fieldValidation, {
      words: errors,
      known,
      inSlices,
      names,
    });
  if (patch.type !== 'apply') {
    const change: PureChange = {
      pure(live, known, isLarge) {
        errors.length = 0;
        // A patch that is tried again learns the names of another result.
        const names = isLarge ? new MemberNames(patch.names) : undefined;
        return patchSteps(live, {
          patch,
          resource,
          names,
          check: (value) => check(value, isLarge, known, names),
        });
      },
    };
    return subresource === '' ? { change } : { change, subresource };
  }
  const turn = turnOf(request);
  const change: CreatingChange = async (live, isLarge = false) => {
    errors.length = 0;
    if (isLarge) await finishInTurns(checkSizeSteps(resource.schema, patchedObject(patch), patch), turn);
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
      schema: resource.schema,
      inSlices: isLarge,
    });
    const { object, changed } = await finishSteps(steps, isLarge, turn);
    if (isLarge) await turn();
    if (!changed && live !== undefined) return live;
    checkAppliedName(request, resource, object);
    return finishSteps(check(object, isLarge), isLarge, turn);
  };
  return subresource === ''
    ? { change, manage: 'apply', allowCreate: true }
    : { change, manage: 'apply', subresource };
}

/** An applied configuration is an object: its reader has checked that. */
const patchedObject = ({ value }: PatchBody): object =>
  typeof value === 'object' && value !== null ? value : {};

/** An applied object may omit its name and namespace, but not contradict the path. The path of a namespace
 *  has its name where others have that of their namespace. */
function checkAppliedName({ info }: ApiRequest, resource: Resource, { metadata }: ApiObject): void {
  metadata.name ??= info.name;
  if (resource.info.namespaced) metadata.namespace ??= info.namespace;
}

interface PatchWork {
  readonly patch: PatchBody;
  readonly resource: Resource;
  /** Absent: neither the object nor the patch is large. */
  readonly names: MemberNames | undefined;
  readonly check: (value: unknown) => Steps<ApiObject>;
}

/** A generator at the top level: V8 allocates the map of a nested one for each closure in its old generation, and
 *  the map holds the variables of the request (0063). */
function* patchSteps(live: ApiObject, { patch, resource, names, check }: PatchWork): Steps<ApiObject> {
  const value = yield* patched(live, patch, resource, names);
  yield;
  return yield* check(value);
}

function* patched(
  live: ApiObject,
  { type, value }: PatchBody,
  resource: Resource,
  names: MemberNames | undefined,
): Steps<unknown> {
  switch (type) {
    case 'json':
      return yield* applyJsonPatch(live, value, names);
    case 'merge':
      return names === undefined ? applyMergePatch(live, value) : yield* mergePatchSteps(live, value, names);
    case 'strategic':
      return names === undefined
        ? applyStrategicMergePatch(live, value, resource.schema.model)
        : yield* strategicMergeSteps(live, value, resource.schema.model, names);
    case 'apply':
      throw new Error('an apply patch cannot be handled as a plain patch');
    default:
      return type satisfies never;
  }
}
