/** delete and deletecollection. Source: deletion, document 1 §3; document 3 §4.2. */
import { invalid } from '#api/meta/status-errors.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';
import type { DeleteOptions, Deletion, Preconditions } from '../verbs/contract.ts';
import type { EndpointDeps } from './deps.ts';
import { checkFields } from './read.ts';
import {
  booleanParameter,
  callerOf,
  integerParameter,
  limitParameter,
  parseDryRun,
  parseSelectors,
  refOf,
} from './read-request.ts';

const POLICIES = ['Orphan', 'Background', 'Foreground'] as const;
type Policy = (typeof POLICIES)[number];

const isPolicy = (text: string): text is Policy => POLICIES.some((policy) => policy === text);

function policyOf(text: string): Policy {
  if (isPolicy(text)) return text;
  throw invalid({ group: '', name: 'DeleteOptions' }, '', [
    {
      kind: 'FieldValueNotSupported',
      field: 'propagationPolicy',
      badValue: text,
      detail: `supported values: ${POLICIES.map((policy) => JSON.stringify(policy)).join(', ')}`,
    },
  ]);
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

function preconditionsOf(value: unknown): Preconditions | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { uid, resourceVersion } = value as { uid?: unknown; resourceVersion?: unknown };
  return { ...(isText(uid) ? { uid } : {}), ...(isText(resourceVersion) ? { resourceVersion } : {}) };
}

/** The deprecated option for dependents (`orphanDependents`). */
function orphanPolicy(orphan: unknown): Policy | undefined {
  if (orphan === undefined) return undefined;
  return orphan === true ? 'Orphan' : 'Background';
}

/** Returns the options of the body, else of the query. @throws StatusError BadRequest, Invalid */
async function deleteRequestOf(deps: EndpointDeps, request: ApiRequest): Promise<DeleteOptions> {
  const { query } = request;
  const body = (await deps.content.readOptions(request, 'DeleteOptions')) ?? {};
  const dryRuns = Array.isArray(body['dryRun'])
    ? body['dryRun'].filter((item) => typeof item === 'string')
    : [];
  const seconds = body['gracePeriodSeconds'];
  const gracePeriodSeconds =
    typeof seconds === 'number' || typeof seconds === 'bigint'
      ? seconds
      : integerParameter(query, 'gracePeriodSeconds');
  const policy = isText(body['propagationPolicy'])
    ? body['propagationPolicy']
    : (query.get('propagationPolicy') ?? '');
  const orphanQuery = query.has('orphanDependents') ? booleanParameter(query, 'orphanDependents') : undefined;
  const orphan = orphanPolicy(body['orphanDependents'] ?? orphanQuery);
  if (policy !== '' && orphan !== undefined) {
    throw invalid({ group: '', name: 'DeleteOptions' }, '', [
      {
        kind: 'FieldValueInvalid',
        field: 'propagationPolicy',
        badValue: policy,
        detail: 'orphanDependents and propagationPolicy cannot be both set',
      },
    ]);
  }
  const propagationPolicy = policy === '' ? orphan : policyOf(policy);
  const preconditions = preconditionsOf(body['preconditions']);
  return {
    dryRun: parseDryRun([...query.getAll('dryRun'), ...dryRuns], 'DeleteOptions'),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(preconditions === undefined ? {} : { preconditions }),
  };
}

const statusOf = (resource: Resource, { object }: Deletion): object => {
  const { group, plural } = resource.info;
  const { name, uid } = object.metadata;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(group === '' ? {} : { group }), kind: plural, uid },
  };
};

/** 200 with the object if the kind returns it or it still exists, else with a Status. */
export async function deleteEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const options = await deleteRequestOf(deps, request);
  const deletion = await deps.verbs.delete({
    ...options,
    ref: refOf(request, resource),
    caller: callerOf(request),
  });
  if (deletion.removed && resource.info.deleteReturns === 'Status') {
    return deps.content.plain(request, 200, statusOf(resource, deletion));
  }
  return deps.content.object(request, resource, 200, deletion);
}

export async function deleteCollectionEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  deps.content.checkAccept(request, resource);
  const options = await deleteRequestOf(deps, request);
  const selectors = parseSelectors(request.query);
  checkFields(resource, selectors.fields);
  const { namespace } = request.info;
  const limit = limitParameter(request.query) ?? 0;
  const selection = {
    ...selectors,
    ...(namespace === '' ? {} : { namespace }),
    ...(limit > 0 ? { limit } : {}),
  };
  await deps.verbs.deleteCollection({ ...options, resource, selection, caller: callerOf(request) });
  return deps.content.plain(request, 200, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      kind: resource.info.plural,
      ...(resource.info.group === '' ? {} : { group: resource.info.group }),
    },
  });
}
