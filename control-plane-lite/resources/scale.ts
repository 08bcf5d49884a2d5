/** The `scale` subresource: the desired number of pods, in one shape for every kind with replicas. Pure.
 *  Source: autoscaling/v1 Scale. */

import type { Scale } from '#api/gen/autoscaling-v1.ts';
import type { ReplicationController } from '#api/gen/core-v1.ts';
import type { LabelSelector } from '#api/gen/meta-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { formatSelector } from '#api/meta/selectors.ts';
import { createFieldErrors } from '#api/schema/validation/field-errors.ts';
import type { ApiObject } from './contract.ts';
import { membersOf, typed } from './view.ts';

/** Fields that all scalable kinds share. */
interface Scalable {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: LabelSelector;
  };
  readonly status?: { readonly replicas?: number };
}

const REPLICATION_CONTROLLER = 'ReplicationController';

function selectorText(object: ApiObject): string {
  if (object.kind === REPLICATION_CONTROLLER) {
    // The only kind whose selector is a map of labels.
    return formatSelector({ matchLabels: typed<ReplicationController>(object).spec?.selector ?? {} });
  }
  const { selector } = typed<Scalable>(object).spec ?? {};
  return selector === undefined ? '' : formatSelector(selector);
}

/** The Scale of a ReplicationController, ReplicaSet, Deployment or StatefulSet.
 *  @throws SelectorError if the selector is invalid, which validation prevents */
export function scaleOf(object: ApiObject): ApiObject {
  const { spec, status } = typed<Scalable>(object);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = selectorText(object);
  const replicas = spec?.replicas ?? 0;
  return {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: status?.replicas ?? 0, ...(selector === '' ? {} : { selector }) },
  };
}

/** Returns every error of a Scale in a request. */
export function validateScale(scale: ApiObject): readonly FieldError[] {
  const errors = createFieldErrors();
  errors.nonNegative('spec.replicas', typed<Scale>(scale).spec?.replicas);
  return errors.all;
}

/** Sets the desired number of pods from a Scale. Changes the draft. */
export function applyScale(draft: ApiObject, scale: ApiObject): void {
  membersOf(draft, 'spec')['replicas'] = typed<Scale>(scale).spec?.replicas ?? 0;
}
