/** The scale subresource: how many pods, read and set without the rest of the object. Source: autoscaling/v1 Scale. */

import { StatusError } from '#api/meta/status-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge.ts';
import type { ApiObject, ObjectSchema, Resource } from '../resources/contract.ts';
import type { Change, Outcome } from '../verbs/contract.ts';
import type { BodyTarget, PatchBody } from './content.ts';
import { callerOf, type EndpointDeps, refOf } from './deps.ts';
import { parseWriteQuery } from './query.ts';
import { findObject } from './read.ts';

/** How a kind's objects show their number of pods and take a new one. */
export interface ScaleMapping {
  readonly schema: ObjectSchema;
  scaleOf(object: ApiObject): ApiObject;
  faults(scale: ApiObject): ReturnType<typeof import('../resources/scale.ts')['validateScale']>;
  apply(draft: ApiObject, scale: ApiObject): void;
}

const target = (mapping: ScaleMapping): BodyTarget => ({
  schema: mapping.schema,
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
});

/** @throws StatusError */
export async function scaleEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
  mapping: ScaleMapping,
): Promise<ApiResponse> {
  if (request.info.verb === 'get') {
    const found = await findObject(deps, request, resource);
    return deps.content.plain(request, 200, mapping.scaleOf(found.object()));
  }
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'UpdateOptions');
  const newScale = await readScale(deps, request, mapping);
  const outcome = await deps.verbs.update(
    refOf(request, resource),
    changeOf(request, mapping, newScale),
    { ...query, allowCreate: false, subresource: 'scale' },
    callerOf(request),
  );
  return shown(deps, request, mapping, outcome);
}

const shown = (
  deps: EndpointDeps,
  request: ApiRequest,
  mapping: ScaleMapping,
  { object }: Outcome,
): ApiResponse => deps.content.plain(request, 200, mapping.scaleOf(object));

type NewScale = (live: ApiObject) => ApiObject;

async function readScale(deps: EndpointDeps, request: ApiRequest, mapping: ScaleMapping): Promise<NewScale> {
  const { fieldValidation } = parseWriteQuery(request.query, request.headers['user-agent'], 'UpdateOptions');
  if (request.info.verb === 'update') {
    const given = await deps.content.readObject(request, target(mapping), fieldValidation);
    return () => given;
  }
  const patch = await deps.content.readPatch(request, fieldValidation);
  return (live) => {
    const value = patchScale(live, patch, mapping);
    return deps.content.checkObject(request, value, target(mapping), fieldValidation);
  };
}

function patchScale(live: ApiObject, { type, value }: PatchBody, { schema }: ScaleMapping): unknown {
  switch (type) {
    case 'json':
      return applyJsonPatch(live, value);
    case 'merge':
    case 'apply':
      return applyMergePatch(live, value);
    case 'strategic':
      return applyStrategicMergePatch(live, value, schema.model);
    default:
      return type satisfies never;
  }
}

function changeOf({ info }: ApiRequest, mapping: ScaleMapping, newScale: NewScale): Change {
  return (live) => {
    if (live === undefined) throw new StatusError('NotFound', 'nothing to scale');
    const scale = newScale(mapping.scaleOf(live));
    const { name = info.name, uid, resourceVersion } = scale.metadata;
    const faults = mapping.faults(scale);
    if (faults.length > 0) throw invalid({ group: 'autoscaling', name: 'Scale' }, name, faults);
    mapping.apply(live, scale);
    live.metadata.name = name;
    if (uid !== undefined && uid !== '') live.metadata.uid = uid;
    if (resourceVersion === undefined) delete live.metadata.resourceVersion;
    else live.metadata.resourceVersion = resourceVersion;
    return live;
  };
}
