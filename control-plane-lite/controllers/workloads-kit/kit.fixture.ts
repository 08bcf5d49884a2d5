/** Facts of pods for tests of controllers. */
import type { CachedObject } from '../../cache/contract.ts';
import type { ApiObject } from '../../resources/contract.ts';
import type { PodFacts } from './pod-facts.ts';

/** An object as the cache returns it. */
export function cachedOf(object: ApiObject, revision = 1): CachedObject {
  const { namespace = '', name = '', labels = {} } = object.metadata;
  const cached = {
    key: namespace === '' ? name : `${namespace}/${name}`,
    namespace,
    name,
    revision,
    json: Buffer.alloc(0),
    labels,
    fields: {},
    object: () => object,
    madeHere: false,
    form: (_: string, make: () => Buffer) => make(),
  };
  return cached;
}

/** A running pod on a node, ready since ever. */
export function podOf(name: string, changes: Partial<PodFacts> = {}): PodFacts {
  const { namespace = 'default', labels = {} } = changes;
  const metadata = { name, namespace, uid: `uid-${name}`, labels };
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid: metadata.uid,
    labels,
    deleting: false,
    createdMs: 0,
    cached: cachedOf({ apiVersion: 'v1', kind: 'Pod', metadata, spec: {} }),
    nodeName: 'node-1',
    phase: 'Running',
    ready: true,
    readySinceMs: 0,
    restarts: 0,
    ...changes,
  };
}
