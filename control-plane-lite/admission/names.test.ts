import { describe, expect, test } from 'vitest';
import { ADMISSION_PLUGINS, enabledPlugins } from './names.ts';

/** Upstream's order of all plugins, release 1.24. */
const UPSTREAM = `AlwaysAdmit NamespaceAutoProvision NamespaceLifecycle NamespaceExists SecurityContextDeny
  LimitPodHardAntiAffinityTopology LimitRanger ServiceAccount NodeRestriction TaintNodesByCondition AlwaysPullImages
  ImagePolicyWebhook PodSecurity PodSecurityPolicy PodNodeSelector Priority DefaultTolerationSeconds
  PodTolerationRestriction EventRateLimit ExtendedResourceToleration OwnerReferencesPermissionEnforcement
  PersistentVolumeLabel DefaultStorageClass StorageObjectInUseProtection PersistentVolumeClaimResize RuntimeClass
  CertificateApproval CertificateSigning CertificateSubjectRestriction DefaultIngressClass DenyServiceExternalIPs
  MutatingAdmissionWebhook ValidatingAdmissionWebhook ResourceQuota AlwaysDeny`.split(/\s+/);

describe('ADMISSION_PLUGINS', () => {
  test('are those of upstream, in its order', () => {
    expect(ADMISSION_PLUGINS.map(({ name }) => name)).toEqual(UPSTREAM);
  });

  test('are all accepted by the flags', () => {
    expect(enabledPlugins(UPSTREAM, [])).toEqual(UPSTREAM);
    expect(enabledPlugins([], UPSTREAM)).toEqual([]);
  });

  test('DenyServiceExternalIPs works only where it is enabled', () => {
    expect(enabledPlugins([], [])).not.toContain('DenyServiceExternalIPs');
    expect(enabledPlugins(['DenyServiceExternalIPs'], [])).toContain('DenyServiceExternalIPs');
    expect(enabledPlugins(['DenyServiceExternalIPs'], ['DenyServiceExternalIPs'])).not.toContain(
      'DenyServiceExternalIPs',
    );
  });
});
