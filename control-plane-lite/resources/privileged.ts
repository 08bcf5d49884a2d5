/** Rejects privileged containers unless the server allows them. Pure. Source: upstream's validation of security
 *  contexts by `--allow-privileged`, release 1.24. */
import type { Container, PodSpec } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import type { ApiObject } from './contract.ts';
import { typed } from './view.ts';

/** Members on the way to the pod's spec, by type. */
const POD_SPECS: Readonly<Record<string, readonly string[]>> = {
  'core/v1.Pod': ['spec'],
  'core/v1.PodTemplate': ['template', 'spec'],
  'core/v1.ReplicationController': ['spec', 'template', 'spec'],
  'apps/v1.Deployment': ['spec', 'template', 'spec'],
  'apps/v1.ReplicaSet': ['spec', 'template', 'spec'],
  'apps/v1.DaemonSet': ['spec', 'template', 'spec'],
  'apps/v1.StatefulSet': ['spec', 'template', 'spec'],
  'batch/v1.Job': ['spec', 'template', 'spec'],
  'batch/v1.CronJob': ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
};

function podSpecOf(object: ApiObject, path: readonly string[]): PodSpec | undefined {
  let value: unknown = object;
  for (const member of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, member);
  }
  return typeof value === 'object' && value !== null
    ? typed<{ spec?: PodSpec }>({ ...object, spec: value }).spec
    : undefined;
}

const CONTAINERS = ['initContainers', 'containers', 'ephemeralContainers'] as const;

/** Returns the check of a type's objects; `undefined` if they contain no pods. */
export function privilegedCheck(typeRef: string): ((object: ApiObject) => readonly FieldError[]) | undefined {
  const path = POD_SPECS[typeRef];
  if (path === undefined) return undefined;
  return (object) => {
    const spec = podSpecOf(object, path);
    return CONTAINERS.flatMap((member) => {
      const containers: readonly Pick<Container, 'securityContext'>[] = spec?.[member] ?? [];
      return containers.flatMap(({ securityContext }, index): readonly FieldError[] =>
        securityContext?.privileged === true
          ? [
              {
                kind: 'FieldValueForbidden',
                field: `${path.join('.')}.${member}[${index}].securityContext.privileged`,
                detail: 'disallowed by cluster policy',
              },
            ]
          : [],
      );
    });
  };
}
