/** Which webhooks a request concerns. Pure. Source: document 2, 2.6. */
import { matchesLabels } from '#api/meta/selectors.ts';
import type { RuleWithOperations } from '#api/schema/gen/admissionregistration-v1.ts';
import type { AdmissionRequest } from '../contract.ts';
import type { Hook } from './hook.ts';

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

/** `namespaceLabels`: of the request's namespace, or of the object if it is one; absent for what is in none. */
export function concerns(
  hook: Hook,
  request: AdmissionRequest,
  namespaceLabels: Labels | undefined,
): boolean {
  if (!hook.rules.some((rule) => matchesRule(rule, request))) return false;
  if (namespaceLabels !== undefined && !matchesLabels(hook.namespaces, namespaceLabels)) return false;
  if (hook.objects.length === 0) return true;
  return [request.object, request.old].some(
    (object) => object !== undefined && matchesLabels(hook.objects, object.metadata.labels ?? {}),
  );
}
