/** APIServices that the server creates for its own group versions. Pure. Source: upstream's table of
 *  priorities. */
import type { APIService, APIServiceSpec } from '#api/gen/apiregistration-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { isCustom } from '../discovery/api-resources.ts';
import { CUSTOM_PRIORITY, priorityOf } from '../discovery/group-order.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import { apiServiceName } from './api-services.ts';

/** Label value: built-in groups are reconciled when the server starts, groups of custom resources always. */
export type Care = 'onstart' | 'true';

export interface LocalApi {
  readonly name: string;
  readonly care: Care;
  /** Registered only while no other server is registered for the group version. */
  readonly isReplaceable: boolean;
  readonly spec: APIServiceSpec;
}

export const automanagedLabel = ({ componentPrefix, domain }: Vocabulary): string =>
  `${componentPrefix}-aggregator.${domain}/automanaged`;

/** The group that APIServices themselves are of is always here. */
export const ownGroup = ({ apiGroupDomain }: Vocabulary): string => `apiregistration.${apiGroupDomain}`;

/** Groups that clusters usually get from an extension server; this server has its own implementation. */
export const isReplaceable = (apiService: string, { apiGroupDomain }: Vocabulary): boolean =>
  apiService === apiServiceName(`metrics.${apiGroupDomain}`, 'v1beta1');

/** Whether another server is registered. */
export const leadsElsewhere = (apiService: ApiObject): boolean =>
  typed<APIService>(apiService).spec?.service !== undefined;

const CUSTOM_VERSION_PRIORITY = 100;
const CORE_VERSION_PRIORITY = 1;
/** Where the rule of the others doesn't hold. */
const VERSION_PRIORITIES: Readonly<Record<string, number>> = {
  'autoscaling/v2': 30,
  'flowcontrol.apiserver/v1beta2': 12,
  'metrics/v1beta1': 100,
};

function versionPriority(group: string, version: string, { apiGroupDomain }: Vocabulary): number {
  if (group === '') return CORE_VERSION_PRIORITY;
  const known = VERSION_PRIORITIES[`${group.replace(`.${apiGroupDomain}`, '')}/${version}`];
  if (known !== undefined) return known;
  if (version.includes('alpha')) return 1;
  return version.includes('beta') ? 9 : 15;
}

function localApi(resource: Resource, vocabulary: Vocabulary): LocalApi {
  const { group, version } = resource.info;
  const custom = isCustom(resource);
  const name = apiServiceName(group, version);
  const replaceable = isReplaceable(name, vocabulary);
  return {
    name,
    care: custom || replaceable ? 'true' : 'onstart',
    isReplaceable: replaceable,
    spec: {
      ...(group === '' ? {} : { group }),
      version,
      groupPriorityMinimum: custom ? CUSTOM_PRIORITY : priorityOf(group, vocabulary),
      versionPriority: custom ? CUSTOM_VERSION_PRIORITY : versionPriority(group, version, vocabulary),
    },
  };
}

/** By name; a version with built-in and custom resources counts as built-in. */
export function localApis(
  resources: readonly Resource[],
  vocabulary: Vocabulary,
): ReadonlyMap<string, LocalApi> {
  const apis = new Map<string, LocalApi>();
  for (const resource of resources) {
    if (resource.info.group === ownGroup(vocabulary)) continue;
    const api = localApi(resource, vocabulary);
    if (apis.get(api.name)?.care !== 'onstart') apis.set(api.name, api);
  }
  return apis;
}

export function localApiObject({ name, care, spec }: LocalApi, vocabulary: Vocabulary): ApiObject {
  return {
    apiVersion: `${ownGroup(vocabulary)}/v1`,
    kind: 'APIService',
    metadata: { name, labels: { [automanagedLabel(vocabulary)]: care } },
    spec,
  };
}
