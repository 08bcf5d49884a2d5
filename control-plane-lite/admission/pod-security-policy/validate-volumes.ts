/** Checks the volumes of a pod against a policy. Pure. Source: upstream's PodSecurityPolicy plugin, release 1.24. */
import type { ProjectedVolumeSource, Volume } from '#api/gen/core-v1.ts';
import type { AllowedHostPath } from '#api/gen/policy-v1beta1.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { rootCaName } from '../../resources/core/root-ca-name.ts';
import { type PodSpec, visitContainers } from './context.ts';
import type { Policy } from './mutate.ts';

const ALL = '*';

/** Name of a volume's type in policies; empty: it has none. */
function volumeTypeOf(volume: Volume): string {
  const type = Object.keys(volume).find((member) => member !== 'name') ?? '';
  return type === 'cephfs' ? 'cephFS' : type;
}

const withoutSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path);

/** Whether a path is the prefix or below it. */
function isBelow(path: string, prefix: string): boolean {
  const [whole, start] = [withoutSlash(path), withoutSlash(prefix)];
  return whole === start || whole.startsWith(`${start}/`);
}

type HostPathVerdict = 'allowed' | 'readOnly' | 'forbidden';

function hostPathVerdict(allowed: readonly AllowedHostPath[], path: string): HostPathVerdict {
  const matching = allowed.filter(({ pathPrefix = '' }) => isBelow(path, pathPrefix));
  if (allowed.length === 0 || matching.some(({ readOnly }) => readOnly !== true)) return 'allowed';
  return matching.length > 0 ? 'readOnly' : 'forbidden';
}

/** The sources of the token volume that every pod gets. */
const isAccountToken = ({ sources = [] }: ProjectedVolumeSource, rootCa: string): boolean =>
  sources.every(({ serviceAccountToken: token, configMap, downwardAPI }) => {
    if (token === undefined && configMap === undefined && downwardAPI === undefined) return false;
    if (token !== undefined && (token.path !== 'token' || (token.audience ?? '') !== '')) return false;
    if (configMap !== undefined && configMap.name !== rootCa) return false;
    return (downwardAPI?.items ?? []).every(
      ({ path, fieldRef }) =>
        path === 'namespace' &&
        (fieldRef?.apiVersion ?? 'v1') === 'v1' &&
        fieldRef?.fieldPath === 'metadata.namespace',
    );
  });

function validateSource(
  errors: FieldErrors,
  spec: PodSpec,
  { name, hostPath, flexVolume, csi }: Volume,
  path: string,
  policy: Policy,
): void {
  const { allowedHostPaths = [], allowedFlexVolumes = [], allowedCSIDrivers = [] } = policy.spec;
  if (hostPath !== undefined) {
    const verdict = hostPathVerdict(allowedHostPaths, hostPath.path);
    if (verdict === 'forbidden')
      errors.invalid(`${path}.hostPath.pathPrefix`, hostPath.path, 'is not allowed to be used');
    if (verdict === 'readOnly') requireReadOnly(errors, spec, name);
  }
  if (flexVolume !== undefined && allowedFlexVolumes.length > 0) {
    const { driver } = flexVolume;
    if (allowedFlexVolumes.every((allowed) => allowed.driver !== driver))
      errors.invalid(`${path}.driver`, driver, 'Flexvolume driver is not allowed to be used');
  }
  if (csi !== undefined && allowedCSIDrivers.length > 0) {
    const { driver } = csi;
    if (allowedCSIDrivers.every((allowed) => allowed.name !== driver))
      errors.invalid(`${path}.csi.driver`, driver, 'Inline CSI driver is not allowed to be used');
  }
}

function requireReadOnly(errors: FieldErrors, spec: PodSpec, volume: string): void {
  visitContainers(spec, ({ volumeMounts = [] }, path) => {
    for (const [index, { name, readOnly }] of volumeMounts.entries()) {
      if (name === volume && readOnly !== true)
        errors.invalid(`${path}.volumeMounts[${index}].readOnly`, false, 'must be read-only');
    }
  });
}

export function validateVolumes(
  errors: FieldErrors,
  spec: PodSpec,
  policy: Policy,
  vocabulary: Vocabulary,
): void {
  const rootCa = rootCaName(vocabulary);
  const { volumes: types = [] } = policy.spec;
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    const path = `spec.volumes[${index}]`;
    const type = volumeTypeOf(volume);
    const isAllowed =
      types.includes(ALL) ||
      types.includes(type) ||
      (types.includes('secret') &&
        volume.projected !== undefined &&
        isAccountToken(volume.projected, rootCa));
    if (isAllowed) validateSource(errors, spec, volume, path, policy);
    else errors.invalid(path, type, `${type} volumes are not allowed to be used`);
  }
}
