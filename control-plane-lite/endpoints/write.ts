/** create, update and patch. Source: document 1, 4.2, 4.8 and 4.9. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import { applyPatchObject } from '../apply/apply-patch.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import type { Change, PureChange } from '../verbs/contract.ts';
import { LARGE_BYTES } from '../verbs/yield.ts';
import type { BodyTarget, PatchBody } from './content.ts';
import { callerOf, type EndpointDeps, refOf } from './deps.ts';
import { booleanParameter, parseWriteQuery, type WriteQuery } from './query.ts';

export const targetOf = ({ schema, info }: Resource): BodyTarget => ({
  schema,
  apiVersion: apiVersionOf(info),
  kind: info.kind,
});

/** Of a body that has been read. */
const hasLargeBody = async (request: ApiRequest): Promise<boolean> =>
  (await request.readBody()).length >= LARGE_BYTES;

export async function createEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'CreateOptions');
  const faults: FieldError[] = [];
  const object = await deps.content.readObject(request, targetOf(resource), query.fieldValidation, faults);
  const isLarge = await hasLargeBody(request);
  const options = faults.length === 0 && !isLarge ? query : { ...query, faults, isLarge };
  const outcome = await deps.verbs.create(refOf(request, resource), object, options, callerOf(request));
  return deps.content.object(request, resource, 201, outcome);
}

/** `subresource`: one that shows its parent, such as `status`. */
export async function updateEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'UpdateOptions');
  const faults: FieldError[] = [];
  const given = await deps.content.readObject(request, targetOf(resource), query.fieldValidation, faults);
  const { subresource } = request.info;
  const allowCreate = subresource === '' && (resource.stored ?? resource).strategy.createOnUpdate === true;
  const outcome = await deps.verbs.update(
    refOf(request, resource),
    // Each attempt works on a copy of its own.
    () => copyJson(given),
    {
      ...query,
      faults,
      allowCreate,
      isLarge: await hasLargeBody(request),
      ...(subresource === '' ? {} : { subresource }),
    },
    callerOf(request),
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
  const { subresource } = request.info;
  const apply = patch.type === 'apply';
  const faults: FieldError[] = [];
  const outcome = await deps.verbs.update(
    refOf(request, resource),
    changeOf(deps, request, resource, patch, { query, force, faults }),
    {
      ...query,
      faults,
      allowCreate: apply && subresource === '',
      manage: apply ? 'apply' : 'update',
      isLarge: await hasLargeBody(request),
      ...(subresource === '' ? {} : { subresource }),
    },
    callerOf(request),
  );
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
  /** Those of the last attempt, to be told with the ones of validation. */
  readonly faults: FieldError[];
}

function changeOf(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
  patch: PatchBody,
  { query, force, faults }: PatchTerms,
): Change | PureChange {
  const target = targetOf(resource);
  const check = (value: unknown, known?: ApiObject): ApiObject =>
    deps.content.checkObject(request, value, target, query.fieldValidation, faults, known);
  if (patch.type !== 'apply') {
    return {
      pure(live, known) {
        faults.length = 0;
        return check(patched(live, patch, resource), known);
      },
    };
  }
  return (live) => {
    faults.length = 0;
    const { object, changed } = applyPatchObject({
      live,
      applied: patch.value,
      model: resource.schema.model,
      manager: query.fieldManager,
      force,
      nowMs: deps.clock.now(),
      apiVersion: target.apiVersion,
      subresource: request.info.subresource,
      hasStatus: resource.info.subresources.has('status'),
      canonical: (last) => resource.schema.decode(last).object,
    });
    if (!changed && live !== undefined) return live;
    checkAppliedName(request, resource, object);
    return check(object);
  };
}

/** An applied object may leave out where it goes to, but not say another place. The path of a namespace has its name
 *  where others have that of their namespace. */
function checkAppliedName({ info }: ApiRequest, resource: Resource, { metadata }: ApiObject): void {
  metadata.name ??= info.name;
  if (resource.info.namespaced) metadata.namespace ??= info.namespace;
}

function patched(live: ApiObject, { type, value }: PatchBody, resource: Resource): unknown {
  switch (type) {
    case 'json':
      return applyJsonPatch(live, value);
    case 'merge':
      return applyMergePatch(live, value);
    case 'strategic':
      return applyStrategicMergePatch(live, value, resource.schema.model);
    case 'apply':
      throw new Error('apply is no plain patch');
    default:
      return type satisfies never;
  }
}
