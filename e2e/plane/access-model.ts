/** Who may do what, as upstream documents it: the default roles, the node authorizer's rules and who
 *  anonymous clients are, written down for tests. Knows nothing of the server's own tables. Source:
 *  upstream's documents on RBAC default roles and node authorization, release 1.24; document 2 §5 and 2.7. */

/** Attributes of a request for authorization. */
export interface Access {
  readonly verb: string;
  /** Absent: a path that is of no resource. */
  readonly resource?: {
    readonly group: string;
    readonly plural: string;
    readonly subresource: string;
    readonly namespace: string;
    readonly name: string;
  };
  readonly path: string;
}

export interface Subject {
  readonly name: string;
  readonly groups: readonly string[];
}

interface Rule {
  readonly verbs: readonly string[];
  readonly groups?: readonly string[];
  /** `plural` or `plural/subresource`. */
  readonly resources?: readonly string[];
  readonly paths?: readonly string[];
}

/** Objects that the pods of a node refer to, as `plural/name`. */
export type Referred = ReadonlyMap<string, ReadonlySet<string>>;

const PUBLIC: Rule = { verbs: ['get'], paths: ['/healthz', '/livez', '/readyz', '/version', '/version/'] };
const DISCOVERY: Rule = {
  verbs: ['get'],
  paths: [...(PUBLIC.paths ?? []), '/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*'],
};
const ISSUER: Rule = { verbs: ['get'], paths: ['/.well-known/openid-configuration', '/openid/v1/jwks'] };
const READ = ['get', 'list', 'watch'];

/** @param domain of API groups */
export function createModel(domain: string, nodeLeaseNamespace: string, referred: Referred) {
  const self: Rule = {
    verbs: ['create'],
    groups: [`authorization.${domain}`],
    resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
  };
  const byGroup: Readonly<Record<string, readonly Rule[]>> = {
    'system:masters': [
      { verbs: ['*'], groups: ['*'], resources: ['*'] },
      { verbs: ['*'], paths: ['*'] },
    ],
    'system:unauthenticated': [PUBLIC],
    'system:authenticated': [PUBLIC, DISCOVERY, self],
    'system:serviceaccounts': [ISSUER],
  };
  const core = (verbs: readonly string[], ...resources: readonly string[]): Rule => ({
    verbs,
    groups: [''],
    resources,
  });
  const nodeRules: readonly Rule[] = [
    { verbs: ['create'], groups: [`authentication.${domain}`], resources: ['tokenreviews'] },
    {
      verbs: ['create'],
      groups: [`authorization.${domain}`],
      resources: ['subjectaccessreviews', 'localsubjectaccessreviews'],
    },
    core(READ, 'services'),
    core(['create', ...READ], 'nodes'),
    core(['update', 'patch'], 'nodes', 'nodes/status'),
    core(['create', 'update', 'patch'], 'events'),
    core(READ, 'pods'),
    core(['create', 'delete'], 'pods'),
    core(['update', 'patch'], 'pods/status'),
    core(['create'], 'pods/eviction'),
    core(['get'], 'endpoints'),
    {
      verbs: ['create', ...READ],
      groups: [`certificates.${domain}`],
      resources: ['certificatesigningrequests'],
    },
    { verbs: READ, groups: [`storage.${domain}`], resources: ['csidrivers'] },
    { verbs: READ, groups: [`node.${domain}`], resources: ['runtimeclasses'] },
  ];
  /** Resources of which a node gets those alone that are its own or that its pods refer to. */
  const related: Readonly<Record<string, readonly string[]>> = {
    '/secrets': READ,
    '/configmaps': READ,
    '/persistentvolumeclaims': ['get'],
    '/persistentvolumeclaims/status': ['get', 'update', 'patch'],
    '/persistentvolumes': ['get'],
    '/serviceaccounts/token': ['create'],
    [`storage.${domain}/volumeattachments`]: ['get'],
  };
  const own: Readonly<Record<string, string>> = {
    [`coordination.${domain}/leases`]: nodeLeaseNamespace,
    [`storage.${domain}/csinodes`]: '',
  };
  const ownVerbs = ['get', 'create', 'update', 'patch', 'delete'];

  function nodeMay(node: string, { verb, resource }: Access): boolean | undefined {
    if (resource === undefined) return undefined;
    const { group, plural, subresource, namespace, name } = resource;
    const key = `${group}/${plural}`;
    const namespaceOfOwn = own[key];
    if (namespaceOfOwn !== undefined) {
      if (!ownVerbs.includes(verb) || subresource !== '' || namespace !== namespaceOfOwn) return false;
      return verb === 'create' || name === node;
    }
    const whole = subresource === '' ? key : `${key}/${subresource}`;
    const verbs = related[whole];
    if (verbs !== undefined)
      return verbs.includes(verb) && referred.get(node)?.has(`${plural}/${name}`) === true;
    // No other part of these is for nodes.
    return Object.keys(related).some((each) => each.split('/')[1] === plural && each.startsWith(`${group}/`))
      ? false
      : undefined;
  }

  const has = (list: readonly string[] | undefined, value: string): boolean =>
    list !== undefined && (list.includes('*') || list.includes(value));

  function allows(rule: Rule, { verb, resource, path }: Access): boolean {
    if (!has(rule.verbs, verb)) return false;
    if (resource === undefined) {
      const paths = rule.paths ?? [];
      return paths.some(
        (each) => each === path || (each.endsWith('*') && path.startsWith(each.slice(0, -1))),
      );
    }
    const { group, plural, subresource } = resource;
    return (
      has(rule.groups, group) && has(rule.resources, subresource === '' ? plural : `${plural}/${subresource}`)
    );
  }

  return (subject: Subject, requested: Access): boolean => {
    if (subject.groups.some((group) => (byGroup[group] ?? []).some((rule) => allows(rule, requested))))
      return true;
    if (!subject.groups.includes('system:nodes')) return false;
    const decided = nodeMay(subject.name.replace('system:node:', ''), requested);
    return decided ?? nodeRules.some((rule) => allows(rule, requested));
  };
}
