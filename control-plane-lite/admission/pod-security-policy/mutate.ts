/** Sets what a policy requires and a pod leaves open. A pod that has everything keeps its values, so that the caller can
 *  tell. Pure. Source: upstream's PodSecurityPolicy plugin, release 1.24. */
import type { Capabilities, SecurityContext } from '#api/gen/core-v1.ts';
import type { PodSecurityPolicySpec } from '#api/gen/policy-v1beta1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { seccompAnnotationOf, seccompFieldOf } from '#api/schema/seccomp-annotations.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import {
  type Annotations,
  type AnyContainer,
  effective,
  type PodContext,
  type PodParts,
  profileNames,
} from './context.ts';

export interface Policy {
  readonly name: string;
  readonly annotations: Annotations;
  readonly spec: PodSecurityPolicySpec;
}

interface RuleWithRanges {
  readonly rule?: string;
  readonly ranges?: readonly { readonly min: Int64 }[];
}

/** Returns the first number of the ranges under the rule MustRunAs. */
const firstOf = (options: RuleWithRanges | undefined): Int64 | undefined =>
  options?.rule === 'MustRunAs' ? options.ranges?.[0]?.min : undefined;

const seLinuxOf = ({ seLinux }: PodSecurityPolicySpec): PodContext['seLinuxOptions'] =>
  seLinux.rule === 'MustRunAs' ? seLinux.seLinuxOptions : undefined;

/** Adds the members that are absent. An absent object stays absent if there are none. */
function complete<T extends object>(given: T | undefined, wanted: T): T | undefined {
  return given === undefined && Object.keys(wanted).length === 0 ? undefined : { ...wanted, ...given };
}

function podContext(given: PodContext | undefined, spec: PodSecurityPolicySpec): PodContext | undefined {
  const group = firstOf(spec.supplementalGroups);
  const fsGroup = firstOf(spec.fsGroup);
  const seLinuxOptions = seLinuxOf(spec);
  return complete<PodContext>(given, {
    ...(group === undefined ? {} : { supplementalGroups: [group] }),
    ...(fsGroup === undefined ? {} : { fsGroup }),
    ...(seLinuxOptions === undefined ? {} : { seLinuxOptions }),
  });
}

const sorted = (names: ReadonlySet<string>): readonly string[] => [...names].sort();

/** Returns the same object if nothing is missing. */
function capabilitiesOf(
  given: Capabilities | undefined,
  { defaultAddCapabilities = [], requiredDropCapabilities = [] }: PodSecurityPolicySpec,
): Capabilities | undefined {
  const [ownAdd, ownDrop] = [new Set(given?.add), new Set(given?.drop)];
  const add = new Set([...defaultAddCapabilities.filter((name) => !ownDrop.has(name)), ...ownAdd]);
  const drop = new Set([...requiredDropCapabilities, ...ownDrop]);
  if (add.size === ownAdd.size && drop.size === ownDrop.size) return given;
  return {
    ...(add.size === 0 ? {} : { add: sorted(add) }),
    ...(drop.size === 0 ? {} : { drop: sorted(drop) }),
  };
}

/** @param pod context of the pod, completed */
function containerContext(
  given: SecurityContext | undefined,
  pod: PodContext | undefined,
  spec: PodSecurityPolicySpec,
): SecurityContext | undefined {
  const runAsUser = effective('runAsUser', given, pod) === undefined ? firstOf(spec.runAsUser) : undefined;
  const runAsGroup = effective('runAsGroup', given, pod) === undefined ? firstOf(spec.runAsGroup) : undefined;
  const seLinuxOptions = effective('seLinuxOptions', given, pod) === undefined ? seLinuxOf(spec) : undefined;
  const isOpen =
    effective('runAsNonRoot', given, pod) === undefined && effective('runAsUser', given, pod) === undefined;
  const mayEscalate =
    spec.defaultAllowPrivilegeEscalation ?? (spec.allowPrivilegeEscalation === false ? false : undefined);
  const made = complete<SecurityContext>(given, {
    ...(runAsUser === undefined ? {} : { runAsUser }),
    ...(runAsGroup === undefined ? {} : { runAsGroup }),
    ...(seLinuxOptions === undefined ? {} : { seLinuxOptions }),
    ...(isOpen && spec.runAsUser.rule === 'MustRunAsNonRoot' ? { runAsNonRoot: true } : {}),
    ...(spec.readOnlyRootFilesystem === true ? { readOnlyRootFilesystem: true } : {}),
    ...(mayEscalate === undefined ? {} : { allowPrivilegeEscalation: mayEscalate }),
  });
  const capabilities = capabilitiesOf(given?.capabilities, spec);
  return capabilities === given?.capabilities || capabilities === undefined
    ? made
    : { ...made, capabilities };
}

/** Sets the default seccomp profile in both its forms. */
function withSeccomp(
  { spec, annotations }: PodParts,
  policy: Policy,
  { seccompPod, domain }: Vocabulary,
): PodParts {
  const own = spec.securityContext?.seccompProfile;
  if ((annotations[seccompPod] ?? '') !== '') return { spec, annotations };
  const text =
    own === undefined ? policy.annotations[profileNames(domain).seccompDefault] : seccompAnnotationOf(own);
  if (text === undefined || text === '') return { spec, annotations };
  const seccompProfile = own ?? seccompFieldOf(text);
  return {
    annotations: { ...annotations, [seccompPod]: text },
    spec:
      seccompProfile === undefined || own !== undefined
        ? spec
        : { ...spec, securityContext: { ...spec.securityContext, seccompProfile } },
  };
}

function withAppArmor(
  annotations: Annotations,
  names: readonly string[],
  policy: Policy,
  { appArmorContainerPrefix, domain }: Vocabulary,
): Annotations {
  const profile = policy.annotations[profileNames(domain).appArmorDefault] ?? '';
  if (profile === '') return annotations;
  const missing = names.filter((name) => (annotations[`${appArmorContainerPrefix}${name}`] ?? '') === '');
  if (missing.length === 0) return annotations;
  const added = Object.fromEntries(missing.map((name) => [`${appArmorContainerPrefix}${name}`, profile]));
  return { ...annotations, ...added };
}

/** Returns the pod with everything that the policy sets. */
export function mutatePod(pod: PodParts, policy: Policy, vocabulary: Vocabulary): PodParts {
  const context = podContext(pod.spec.securityContext, policy.spec);
  const runtimeClassName = pod.spec.runtimeClassName ?? policy.spec.runtimeClass?.defaultRuntimeClassName;
  const { spec, annotations } = withSeccomp(
    {
      annotations: pod.annotations,
      spec: {
        ...pod.spec,
        ...(context === undefined ? {} : { securityContext: context }),
        ...(runtimeClassName === undefined ? {} : { runtimeClassName }),
      },
    },
    policy,
    vocabulary,
  );
  const names: string[] = [];
  const contain = <T extends AnyContainer>(container: T): T => {
    names.push(container.name);
    const securityContext = containerContext(container.securityContext, spec.securityContext, policy.spec);
    return securityContext === undefined ? container : { ...container, securityContext };
  };
  return {
    spec: {
      ...spec,
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(contain) }),
      containers: spec.containers.map(contain),
      ...(spec.ephemeralContainers === undefined
        ? {}
        : { ephemeralContainers: spec.ephemeralContainers.map(contain) }),
    },
    annotations: withAppArmor(annotations, names, policy, vocabulary),
  };
}
