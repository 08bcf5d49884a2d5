/** What a request to the agent's server means to whoever authorizes it: a verb on a part of the node. Pure.
 *  Source: document 3, 5; upstream's mapping of paths to subresources. */

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

/** @param path decoded, with a slash in front */
export function attributesOf(method: string, path: string): NodeAttributes {
  const part = PARTS.find((name) => isBelow(path, `/${name}`));
  const subresource = part ?? (isBelow(path, '/logs') ? 'log' : 'proxy');
  return { verb: VERBS[method] ?? '', subresource };
}
