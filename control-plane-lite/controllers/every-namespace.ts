/** Reconciles one object in every namespace: creates it where it is missing and corrects it where it
 *  differs. */
import { copyJson } from '#api/codec/copy-json.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { ControllerContext, Reconciler } from './skeleton/declaration.ts';

export interface NamespaceObject {
  readonly kind: 'configmaps' | 'serviceaccounts';
  readonly name: string;
  /** Creates an object without its name and namespace. */
  readonly create: () => ApiObject;
  /** Corrects an object in place and reports whether it changed. Absent: any existing object is accepted. */
  readonly repair?: (draft: ApiObject) => boolean;
}

/** Namespaces processed at a time; only tests create many at once. */
export const NAMESPACE_WORKERS = 16;

const needsRepair = ({ repair }: NamespaceObject, found: ApiObject): boolean =>
  repair !== undefined && repair(copyJson(found));

async function put(
  context: ControllerContext,
  namespace: string,
  { kind, name, create, repair }: NamespaceObject,
): Promise<void> {
  const { verbs, caller, fieldManager } = context.client;
  try {
    await verbs.update({
      ref: { resource: context.resourceOf(kind), namespace, name },
      change: (live) => {
        if (live === undefined) {
          const object = create();
          object.metadata = { ...object.metadata, name, namespace };
          return object;
        }
        repair?.(live);
        return live;
      },
      dryRun: false,
      fieldManager,
      allowCreate: true,
      caller,
    });
  } catch (thrown) {
    // The namespace is terminating and accepts no new objects.
    if (!(thrown instanceof StatusError && ['NotFound', 'Forbidden'].includes(thrown.reason))) throw thrown;
  }
}

/** Subscribes to namespaces and to the objects. */
export function followNamespaces(context: ControllerContext, desired: NamespaceObject): Reconciler {
  const { queue, log } = context;
  const namespaces = context.cacheOf('namespaces');
  const objects = context.cacheOf(desired.kind);
  return {
    async reconcile(name) {
      const namespace = namespaces.get(name)?.object();
      if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return undefined;
      const found = objects.get(`${name}/${desired.name}`)?.object();
      if (found === undefined || needsRepair(desired, found)) await put(context, name, desired);
      return undefined;
    },
    follows: [
      namespaces.follow(({ type, current }) => {
        if (type !== 'DELETED') queue.add(current.name);
      }),
      objects.follow(({ current }) => {
        if (current.name === desired.name) queue.add(current.namespace);
      }),
    ],
    onError: (namespace, err) =>
      log.warn(
        { err, namespace, object: desired.name },
        'Failed to reconcile per-namespace object; retrying',
      ),
  };
}
