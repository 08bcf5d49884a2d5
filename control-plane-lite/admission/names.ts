/** Admission plugins that can be enabled and disabled, in their order of execution, which is independent of
 *  the order of the flags. Source: upstream's order of plugins, release 1.24; admission, document 2 §2.7. */

/** `on`: enabled by default. */
export const ADMISSION_PLUGINS = [
  { name: 'AlwaysAdmit', on: false },
  { name: 'NamespaceAutoProvision', on: false },
  { name: 'NamespaceLifecycle', on: true },
  { name: 'NamespaceExists', on: false },
  { name: 'SecurityContextDeny', on: false },
  { name: 'LimitPodHardAntiAffinityTopology', on: false },
  { name: 'LimitRanger', on: true },
  { name: 'ServiceAccount', on: true },
  { name: 'NodeRestriction', on: true },
  { name: 'TaintNodesByCondition', on: true },
  { name: 'AlwaysPullImages', on: false },
  { name: 'ImagePolicyWebhook', on: false },
  { name: 'PodSecurity', on: true },
  { name: 'PodSecurityPolicy', on: false },
  { name: 'PodNodeSelector', on: false },
  { name: 'Priority', on: true },
  { name: 'DefaultTolerationSeconds', on: true },
  { name: 'PodTolerationRestriction', on: false },
  { name: 'EventRateLimit', on: false },
  { name: 'ExtendedResourceToleration', on: false },
  { name: 'OwnerReferencesPermissionEnforcement', on: false },
  { name: 'PersistentVolumeLabel', on: false },
  { name: 'DefaultStorageClass', on: true },
  { name: 'StorageObjectInUseProtection', on: true },
  { name: 'PersistentVolumeClaimResize', on: true },
  { name: 'RuntimeClass', on: true },
  { name: 'CertificateApproval', on: true },
  { name: 'CertificateSigning', on: true },
  { name: 'CertificateSubjectRestriction', on: true },
  { name: 'DefaultIngressClass', on: true },
  { name: 'DenyServiceExternalIPs', on: false },
  { name: 'MutatingAdmissionWebhook', on: true },
  { name: 'ValidatingAdmissionWebhook', on: true },
  { name: 'ResourceQuota', on: true },
  { name: 'AlwaysDeny', on: false },
] as const;

export type AdmissionPluginName = (typeof ADMISSION_PLUGINS)[number]['name'];

/** Names of the enabled plugins in their order. */
export function enabledPlugins(
  enable: readonly string[],
  disable: readonly string[],
): readonly AdmissionPluginName[] {
  return ADMISSION_PLUGINS.filter(
    ({ name, on }) => (on || enable.includes(name)) && !disable.includes(name),
  ).map(({ name }) => name);
}

/** Reason why the two lists conflict; empty: they do not. */
export function pluginErrors(enable: readonly string[], disable: readonly string[]): readonly string[] {
  return enable
    .filter((name) => disable.includes(name))
    .map((name) => `--enable-admission-plugins and --disable-admission-plugins both name ${name}`);
}
