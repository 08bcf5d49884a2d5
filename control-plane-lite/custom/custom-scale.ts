/** The scale subresource of custom resources: paths of the definition say where the numbers are. Pure.
 *  Source: apiextensions/v1, CustomResourceSubresourceScale; autoscaling/v1 Scale. */

import type { CustomResourceSubresourceScale } from '#api/gen/apiextensions-v1.ts';
import type { Scale } from '#api/gen/autoscaling-v1.ts';
import { isWhole } from '#api/kit/int64.ts';
import { findFirst, type JsonPath, parseJsonPath } from '#api/meta/json-path.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject, ScaleAccess } from '../resources/contract.ts';
import { type Members, membersOf, typed } from '../resources/view.ts';

/** Members of metadata that a Scale shows. */
const SHOWN = ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp'] as const;

function metadataOf({ metadata }: ApiObject): ApiObject['metadata'] {
  const given = SHOWN.filter((member) => metadata[member] !== undefined);
  return Object.fromEntries(given.map((member) => [member, metadata[member]]));
}

function integerAt(object: ApiObject, path: JsonPath): number | undefined {
  const value = findFirst(path, object);
  if (!isWhole(value)) return undefined;
  // A Scale has 32 bits: those that fit, as upstream.
  return typeof value === 'bigint' ? Number(BigInt.asIntN(32, value)) : value | 0;
}

/** Names of the members that a simple path such as `.spec.replicas` leads through. */
function namesOf({ steps }: JsonPath): readonly string[] {
  return steps.flatMap((step) => (step.kind === 'members' ? step.names : []));
}

/** Sets the number at a path of members, making those on the way that aren't there. */
function setAt(draft: ApiObject, path: JsonPath, value: number): void {
  const names = namesOf(path);
  let at: Members = draft;
  for (const name of names.slice(0, -1)) at = membersOf(at, name);
  at[names.at(-1) ?? ''] = value;
}

/** How the objects of a version are scaled. The paths are those of a valid definition. */
export function customScale(scale: CustomResourceSubresourceScale): ScaleAccess {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = '' } = scale;
  const specPath = parseJsonPath(specReplicasPath);
  const statusPath = parseJsonPath(statusReplicasPath);
  const selectorPath = labelSelectorPath === '' ? undefined : parseJsonPath(labelSelectorPath);
  return {
    scaleOf(object) {
      const replicas = integerAt(object, specPath);
      if (replicas === undefined) {
        throw new StatusError(
          'InternalError',
          `the spec replicas field ${JSON.stringify(specReplicasPath)} does not exist`,
        );
      }
      const selector = selectorPath === undefined ? undefined : findFirst(selectorPath, object);
      return {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: metadataOf(object),
        spec: replicas === 0 ? {} : { replicas },
        status: {
          replicas: integerAt(object, statusPath) ?? 0,
          ...(typeof selector === 'string' && selector !== '' ? { selector } : {}),
        },
      };
    },
    apply: (draft, wanted) => setAt(draft, specPath, typed<Scale>(wanted).spec?.replicas ?? 0),
  };
}
