/** Validation of fields of manifests whose feature gates are disabled. Pure. */
import type { Pod, ResourceFieldSelector } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';

interface LocatedRef {
  readonly field: string;
  readonly ref: ResourceFieldSelector | undefined;
}

interface DownwardItems {
  readonly items?: readonly { readonly resourceFieldRef?: ResourceFieldSelector }[];
}

const inItems = (path: string, { items = [] }: DownwardItems = {}): readonly LocatedRef[] =>
  items.map(({ resourceFieldRef: ref }, index) => ({
    field: `${path}.items[${index}].resourceFieldRef`,
    ref,
  }));

function inContainers(
  list: string,
  containers: NonNullable<Pod['spec']>['initContainers'] = [],
): readonly LocatedRef[] {
  return containers.flatMap(({ env = [] }, index) =>
    env.map(({ valueFrom }, at) => ({
      field: `spec.${list}[${index}].env[${at}].valueFrom.resourceFieldRef`,
      ref: valueFrom?.resourceFieldRef,
    })),
  );
}

/** Returns an error for each reference to huge pages, which the feature gate DownwardAPIHugePages enables. */
export function hugePageRefErrors({ spec }: Pod): readonly FieldError[] {
  const inVolumes = (spec?.volumes ?? []).flatMap(({ downwardAPI, projected }, index) => [
    ...inItems(`spec.volumes[${index}].downwardAPI`, downwardAPI),
    ...(projected?.sources ?? []).flatMap((source, at) =>
      inItems(`spec.volumes[${index}].projected.sources[${at}].downwardAPI`, source.downwardAPI),
    ),
  ]);
  const all = [
    ...inContainers('initContainers', spec?.initContainers),
    ...inContainers('containers', spec?.containers),
    ...inVolumes,
  ];
  return all.flatMap(({ field, ref }): readonly FieldError[] => {
    const resource = ref?.resource ?? '';
    if (!/^(?:limits|requests)\.hugepages-/.test(resource)) return [];
    const detail = 'huge pages are disabled here by the feature gate DownwardAPIHugePages';
    return [{ kind: 'FieldValueNotSupported', field: `${field}.resource`, badValue: resource, detail }];
  });
}
