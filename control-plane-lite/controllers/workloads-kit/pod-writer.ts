/** Creates pods from templates and deletes them on behalf of a controller; records an Event about the owner
 *  for each. Source: upstream's pod control, release 1.24. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { PodTemplateSpec } from '#api/gen/core-v1.ts';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { Caller, Verbs } from '../../verbs/contract.ts';
import type { Child } from './children.ts';
import type { EventRecorder } from './events.ts';
import { isNamespaceEnding } from './namespace-ending.ts';

export interface PodTraits {
  /** Exactly this name; absent: one that begins with the owner's. */
  readonly name?: string;
  /** Prefix of a generated name; default: the owner's name and a hyphen. */
  readonly generateName?: string;
  /** In addition to those of the template. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

export interface PodWriter {
  /** The pod as it was stored. @throws StatusError */
  create(owner: ApiObject, pod: ApiObject): Promise<ApiObject>;
  /** Does nothing if the pod was deleted or replaced. @throws StatusError */
  remove(owner: ApiObject, pod: Child): Promise<void>;
}

export interface PodWriterDeps {
  readonly verbs: Pick<Verbs, 'create' | 'delete'>;
  readonly caller: Caller;
  readonly events: EventRecorder;
  readonly fieldManager: string;
  /** Resource of pods. */
  readonly pods: Resource;
}

/** A pod built from a template. It shares no members with the template. */
export function podFromTemplate(
  { metadata, spec }: PodTemplateSpec,
  owner: ApiObject,
  reference: OwnerReference,
  traits: PodTraits = {},
): ApiObject {
  const labels = { ...metadata?.labels, ...traits.labels };
  const annotations = { ...metadata?.annotations, ...traits.annotations };
  const finalizers = [...(metadata?.finalizers ?? []), ...(traits.finalizers ?? [])];
  const named =
    traits.name === undefined
      ? { generateName: traits.generateName ?? `${owner.metadata.name ?? ''}-` }
      : { name: traits.name };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...named,
      namespace: owner.metadata.namespace ?? '',
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
      ownerReferences: [reference],
      ...(finalizers.length > 0 ? { finalizers } : {}),
    },
    spec: copyJson(spec ?? { containers: [] }),
  };
}

export function createPodWriter(deps: PodWriterDeps): PodWriter {
  const { verbs, caller, events, fieldManager, pods } = deps;
  return {
    async create(owner, pod) {
      try {
        pods.schema.applyDefaults(pod);
        const ref = {
          resource: pods,
          namespace: owner.metadata.namespace ?? '',
          name: pod.metadata.name ?? '',
        };
        const { object } = await verbs.create({ ref, object: pod, dryRun: false, fieldManager, caller });
        events.record(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${object.metadata.name ?? ''}`);
        return object;
      } catch (thrown) {
        if (!isNamespaceEnding(thrown)) {
          events.record(owner, 'Warning', 'FailedCreate', `Error creating: ${asError(thrown).message}`);
        }
        throw thrown;
      }
    },
    async remove(owner, { namespace, name, uid }) {
      const request = { dryRun: false, preconditions: { uid } };
      try {
        await verbs.delete({ ...request, ref: { resource: pods, namespace, name }, caller });
        events.record(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`);
      } catch (thrown) {
        if (thrown instanceof StatusError && (thrown.reason === 'NotFound' || thrown.reason === 'Conflict')) {
          return;
        }
        events.record(owner, 'Warning', 'FailedDelete', `Error deleting: ${asError(thrown).message}`);
        throw thrown;
      }
    },
  };
}
