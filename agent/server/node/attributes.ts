/** Authorization attributes of a request to the node server: a verb on a subresource of the node. Pure.
 *  Source: node API authorization, document 3 §5; the upstream mapping of paths to subresources. */

export interface NodeAttributes {
  readonly verb: string;
  readonly subresource: 'proxy' | 'stats' | 'metrics' | 'log' | 'spec';
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

const PARTS = ['stats', 'metrics', 'spec'] as const;

const isBelow = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`);

/** @param path decoded, with a leading slash */
export function attributesOf(method: string, path: string): NodeAttributes {
  const part = PARTS.find((name) => isBelow(path, `/${name}`));
  const subresource = part ?? (isBelow(path, '/logs') ? 'log' : 'proxy');
  return { verb: VERBS[method] ?? '', subresource };
}
