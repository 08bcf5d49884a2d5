/** Bootstrap objects: the system namespaces and priority classes, and roles and bindings if RBAC is
 *  enabled. */
import { StatusError } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { bootstrapPolicy } from '../authz/bootstrap.ts';
import { controllerRoles } from '../controllers/roles/roles.ts';
import type { ApiObject } from '../resources/contract.ts';
import { SYSTEM_PRIORITY_CLASSES } from '../resources/groups/scheduling/priority-class.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';

export interface BootstrapDeps {
  readonly registry: ResourceRegistry;
  readonly verbs: Verbs;
  readonly vocabulary: Vocabulary;
}

const namespaceObject = (name: string): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
});

const CLASS_DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  ['system-node-critical', 'For pods of the system that must stay on the node they are on.'],
  ['system-cluster-critical', 'For pods of the system that must run, on whichever node that may be.'],
]);

function priorityClasses({ apiGroupDomain }: Vocabulary): readonly ApiObject[] {
  return [...SYSTEM_PRIORITY_CLASSES].map(([name, value]) => ({
    apiVersion: `scheduling.${apiGroupDomain}/v1`,
    kind: 'PriorityClass',
    metadata: { name },
    value,
    description: CLASS_DESCRIPTIONS.get(name) ?? '',
  }));
}

/** Creates missing objects. Existing ones stay unchanged: an administrator may have edited them. */
export async function createBootstrapObjects(
  deps: BootstrapDeps,
  rbac: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { systemNamespace, publicNamespace, nodeLeaseNamespace } = deps.vocabulary;
  const namespaces = ['default', systemNamespace, publicNamespace, nodeLeaseNamespace].map(namespaceObject);
  await createMissing(deps, [...namespaces, ...priorityClasses(deps.vocabulary)], signal);
  if (rbac) await createMissing(deps, bootstrapPolicy(deps.vocabulary, controllerRoles()), signal);
}

/** Creates those of the objects that are missing. */
export async function createMissing(
  deps: BootstrapDeps,
  objects: readonly ApiObject[],
  signal: AbortSignal,
): Promise<void> {
  const caller = controllerCaller('bootstrap', signal);
  await Promise.all(
    objects.map(async (object) => {
      const resource = deps.registry.findKind(object.apiVersion, object.kind);
      if (resource === undefined) return;
      const { name = '', namespace = '' } = object.metadata;
      const { object: draft } = resource.schema.decode(object);
      try {
        await deps.verbs.create({
          ref: { resource, namespace, name },
          object: draft,
          dryRun: false,
          fieldManager: 'bootstrap',
          caller,
        });
      } catch (thrown) {
        if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
      }
    }),
  );
}
