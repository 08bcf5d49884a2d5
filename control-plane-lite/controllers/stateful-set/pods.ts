/** Pod of an ordinal, its claims, and the owners of the claims. Pure. Source: upstream's StatefulSet
 *  controller, release 1.24. */
import { copyJson } from '#api/codec/copy-json.ts';
import type {
  StatefulSetPersistentVolumeClaimRetentionPolicy as RetentionPolicy,
  StatefulSetSpec,
} from '#api/gen/apps-v1.ts';
import type { PersistentVolumeClaim, PodTemplateSpec, Volume } from '#api/gen/core-v1.ts';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { membersOf } from '../../resources/view.ts';
import { podFromTemplate } from '../workloads-kit/pod-writer.ts';
import { REVISION_LABEL } from '../workloads-kit/revisions.ts';

export const podNameLabel = ({ domain }: Pick<Vocabulary, 'domain'>): string =>
  `statefulset.${domain}/pod-name`;

const podNameOf = (setName: string, ordinal: number): string => `${setName}-${ordinal}`;

const claimName = (template: PersistentVolumeClaim, setName: string, ordinal: number): string =>
  `${template.metadata?.name ?? ''}-${podNameOf(setName, ordinal)}`;

export interface StatefulPodRequest {
  readonly set: ApiObject;
  readonly spec: StatefulSetSpec;
  readonly reference: OwnerReference;
  readonly ordinal: number;
  /** Revision of the pod. */
  readonly template: PodTemplateSpec;
  readonly version: string;
  readonly vocabulary: Pick<Vocabulary, 'domain'>;
}

/** The volumes of the template merged with those of the claims, which take precedence. */
function volumesWithClaims(
  volumes: readonly Volume[],
  claims: readonly PersistentVolumeClaim[],
  setName: string,
  ordinal: number,
): readonly Volume[] {
  const claimed = claims.map(
    (template): Volume => ({
      name: template.metadata?.name ?? '',
      persistentVolumeClaim: { claimName: claimName(template, setName, ordinal) },
    }),
  );
  const names = new Set(claimed.map(({ name }) => name));
  return [...claimed, ...volumes.filter(({ name }) => !names.has(name))];
}

export function statefulPod(request: StatefulPodRequest): ApiObject {
  const { set, spec, reference, ordinal, template, version, vocabulary } = request;
  const setName = set.metadata.name ?? '';
  const name = podNameOf(setName, ordinal);
  const labels = { [podNameLabel(vocabulary)]: name, [REVISION_LABEL]: version };
  const pod = podFromTemplate(template, set, reference, { name, labels });
  const podSpec = membersOf(pod, 'spec');
  podSpec['hostname'] = name;
  if (spec.serviceName !== '') podSpec['subdomain'] = spec.serviceName;
  const claims = spec.volumeClaimTemplates ?? [];
  if (claims.length > 0) {
    podSpec['volumes'] = volumesWithClaims(template.spec?.volumes ?? [], claims, setName, ordinal);
  }
  return pod;
}

/** The claims of an ordinal, which outlive its pods. */
export function claimsFor(set: ApiObject, spec: StatefulSetSpec, ordinal: number): readonly ApiObject[] {
  const { name: setName = '', namespace = '' } = set.metadata;
  return (spec.volumeClaimTemplates ?? []).map((template) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claimName(template, setName, ordinal),
      namespace,
      labels: { ...template.metadata?.labels, ...spec.selector.matchLabels },
      ...(template.metadata?.annotations === undefined
        ? {}
        : { annotations: { ...template.metadata.annotations } }),
    },
    spec: copyJson(template.spec ?? {}),
  }));
}

/** Owner references of a claim for its retention policy: deleted with the set, or with a scaled-down pod. */
export function claimReferences(
  references: readonly OwnerReference[],
  policy: RetentionPolicy,
  owners: {
    readonly set: OwnerReference;
    /** Absent: the pod does not exist. */
    readonly pod: OwnerReference | undefined;
    readonly surplus: boolean;
  },
): readonly OwnerReference[] {
  const { set, pod, surplus } = owners;
  const withPod = policy.whenScaled === 'Delete' && surplus;
  const withSet = policy.whenDeleted === 'Delete' && !withPod;
  const others = references.filter(({ uid }) => uid !== set.uid && uid !== pod?.uid);
  return [...others, ...(withSet ? [set] : []), ...(withPod && pod !== undefined ? [pod] : [])];
}
