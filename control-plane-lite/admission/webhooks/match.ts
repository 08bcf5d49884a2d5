/** Matches requests against webhook rules and selectors. Pure. Source: webhook matching, document 2 §2.6. */

import type { RuleWithOperations } from '#api/gen/admissionregistration-v1.ts';
import { matchesLabels } from '#api/meta/selectors.ts';
import type { Resource } from '../../resources/contract.ts';
import type { AdmissionRequest } from '../contract.ts';
import type { Hook } from './hook.ts';
import type { VersionsOf } from './seen.ts';

type Labels = Readonly<Record<string, string>>;

const ALL = '*';
const has = (list: readonly string[] | undefined, wanted: string): boolean =>
  list !== undefined && (list.includes(ALL) || list.includes(wanted));

/** `pods`, `pods/log`, `pods/*`, `*` + `/log`; `*` alone leaves subresources out. */
function hasResource(rules: readonly string[], resource: string, subresource: string): boolean {
  return rules.some((rule) => {
    const [of = '', part = ''] = rule.split('/');
    return (of === ALL || of === resource) && (part === subresource || part === ALL);
  });
}

export function matchesRule(
  { operations, apiGroups, apiVersions, resources = [], scope = ALL }: RuleWithOperations,
  { operation, resource, subresource }: Pick<AdmissionRequest, 'operation' | 'resource' | 'subresource'>,
): boolean {
  const { group, version, plural, namespaced } = resource.info;
  return (
    has(operations, operation) &&
    has(apiGroups, group) &&
    has(apiVersions, version) &&
    hasResource(resources, plural, subresource) &&
    (scope === ALL || (scope === 'Namespaced') === namespaced)
  );
}

/** Returns the version of the resource that the rules match: the request's own, else an equivalent one. */
function namedVersion(
  { rules, equivalent }: Hook,
  request: AdmissionRequest,
  versionsOf: VersionsOf,
): Resource | undefined {
  const isNamed = (resource: Resource): boolean =>
    rules.some((rule) => matchesRule(rule, { ...named, resource }));
  const { operation, subresource, resource } = request;
  const named = { operation, subresource };
  if (isNamed(resource)) return resource;
  if (!equivalent) return undefined;
  return versionsOf(resource).find(
    (each) => each !== resource && isServedPart(each, subresource) && isNamed(each),
  );
}

const isServedPart = ({ info }: Resource, subresource: string): boolean =>
  subresource === '' || info.subresources.has(subresource);

/** The version of the objects in the call of the webhook; `undefined`: no call. `namespaceLabels`: of the request's
 *  namespace, or of the object if it is one; absent for what is in none. */
export function concerns(
  hook: Hook,
  request: AdmissionRequest,
  namespaceLabels: Labels | undefined,
  versionsOf: VersionsOf,
): Resource | undefined {
  const version = namedVersion(hook, request, versionsOf);
  if (version === undefined) return undefined;
  if (namespaceLabels !== undefined && !matchesLabels(hook.namespaces, namespaceLabels)) return undefined;
  if (hook.objects.length === 0) return version;
  // Connect options have no label field, in contrast to objects without labels.
  if (request.operation === 'CONNECT') return undefined;
  const matches = [request.object, request.old].some(
    (object) => object !== undefined && matchesLabels(hook.objects, object.metadata.labels ?? {}),
  );
  return matches ? version : undefined;
}
