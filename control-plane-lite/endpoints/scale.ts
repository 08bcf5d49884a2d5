/** Scale subresource: reads and sets the replicas without the rest of the object. Source: autoscaling/v1
 *  Scale. */
import { finish } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ScaleMapping as OwnershipMapping } from '../apply/scale.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import type { Change } from '../verbs/contract.ts';
import type { BodyTarget, PatchBody } from './content.ts';
import type { EndpointDeps } from './deps.ts';
import { findObject } from './read.ts';
import { callerOf, parseWriteQuery, refOf } from './read-request.ts';
import { applyToScale, passOwnersOn, replicasPathOf } from './scale-apply.ts';
import type { ScaleMapping } from './scale-mapping.ts';
import { checkScale, scaleView } from './scale-view.ts';
import { checkForce } from './write.ts';

const SCALE_VERSION = 'autoscaling/v1';

const target = (mapping: ScaleMapping): BodyTarget => ({
  schema: mapping.schema,
  apiVersion: SCALE_VERSION,
  kind: 'Scale',
});

type MappingOf = (resource: Resource) => ScaleMapping | undefined;

/** @throws StatusError */
export async function scaleEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
  mappingOf: MappingOf,
): Promise<ApiResponse> {
  const mapping = mappingOf(resource);
  if (mapping === undefined)
    throw new StatusError('NotFound', 'the server could not find the requested resource');
  if (request.info.verb === 'get') {
    const found = await findObject(deps, request, resource);
    return deps.content.plain(request, 200, mapping.scaleOf(found.object()));
  }
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'UpdateOptions');
  const { change, manage } = await readChange(deps, request, resource, mappingOf, mapping);
  const { object } = await deps.verbs.update({
    ref: refOf(request, resource),
    change,
    ...query,
    manage,
    subresource: 'scale',
    view: scaleView(mapping),
    caller: callerOf(request),
  });
  return deps.content.plain(request, 200, mapping.scaleOf(object));
}

interface ScaleChange {
  readonly change: Change;
  readonly manage: 'update' | 'apply';
}

async function readChange(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
  mappingOf: MappingOf,
  mapping: ScaleMapping,
): Promise<ScaleChange> {
  const query = parseWriteQuery(request.query, request.headers['user-agent'], 'UpdateOptions');
  const { fieldValidation } = query;
  const check = (value: unknown): ApiObject =>
    finish(deps.content.checkObject(request, value, target(mapping), fieldValidation, {}));
  const set = (live: ApiObject, scale: ApiObject): ApiObject => withScale(request, mapping, live, scale);
  if (request.info.verb === 'update') {
    const given = await deps.content.readObject(request, target(mapping), fieldValidation);
    return { change: (live) => set(live, given), manage: 'update' };
  }
  const patch = await deps.content.readPatch(request, fieldValidation);
  const force = checkForce(request, patch);
  if (patch.type !== 'apply') {
    const change: Change = (live) => set(live, check(patchScale(live, patch, mapping)));
    return { change, manage: 'update' };
  }
  const owners = ownersOf(deps, resource, mappingOf);
  const change: Change = (live) => {
    const nowMs = deps.clock.now();
    const application = { applied: patch.value, manager: query.fieldManager, force, nowMs, owners };
    const applied = applyToScale(live, mapping, application);
    if (applied === undefined) return live;
    const scale = check(applied);
    passOwnersOn(live, scale, owners);
    return set(live, scale);
  };
  return { change, manage: 'apply' };
}

/** Maps the ownership of a Scale to that of the scaled object, in whatever version it was written. */
function ownersOf({ registry }: EndpointDeps, resource: Resource, mappingOf: MappingOf): OwnershipMapping {
  const versions = registry.all().filter(({ storage }) => storage.prefix === resource.storage.prefix);
  const paths = versions.flatMap((version) => {
    const mapping = mappingOf(version);
    return mapping === undefined ? [] : [[apiVersionOf(version.info), replicasPathOf(mapping)] as const];
  });
  return {
    paths: Object.fromEntries(paths),
    apiVersion: apiVersionOf(resource.info),
    scaleVersion: SCALE_VERSION,
  };
}

function patchScale(live: ApiObject, { type, value }: PatchBody, mapping: ScaleMapping): unknown {
  const scale = mapping.scaleOf(live);
  switch (type) {
    case 'json':
      return finish(applyJsonPatch(scale, value));
    case 'merge':
      return applyMergePatch(scale, value);
    case 'strategic':
      return applyStrategicMergePatch(scale, value, mapping.schema.model);
    case 'apply':
      throw new Error('an apply patch cannot be handled as a plain patch');
    default:
      return type satisfies never;
  }
}

/** @throws StatusError Invalid */
function withScale(
  { info }: ApiRequest,
  mapping: ScaleMapping,
  live: ApiObject,
  scale: ApiObject,
): ApiObject {
  const { name = info.name, uid, resourceVersion } = scale.metadata;
  checkScale(mapping, scale, name);
  mapping.apply(live, scale);
  live.metadata.name = name;
  if (uid !== undefined && uid !== '') live.metadata.uid = uid;
  if (resourceVersion === undefined) delete live.metadata.resourceVersion;
  else live.metadata.resourceVersion = resourceVersion;
  return live;
}
