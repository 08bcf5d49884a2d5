import { describe, expect, test } from 'vitest';
import { ADMISSION_PLUGINS, enabledPlugins } from './names.ts';

/** Upstream's order of all plugins, release 1.24, those that this server does not have included. */
const UPSTREAM = `AlwaysAdmit NamespaceAutoProvision NamespaceLifecycle NamespaceExists SecurityContextDeny
  LimitPodHardAntiAffinityTopology LimitRanger ServiceAccount NodeRestriction TaintNodesByCondition AlwaysPullImages
  ImagePolicyWebhook PodSecurity PodSecurityPolicy PodNodeSelector Priority DefaultTolerationSeconds
  PodTolerationRestriction EventRateLimit ExtendedResourceToleration OwnerReferencesPermissionEnforcement
  PersistentVolumeLabel DefaultStorageClass StorageObjectInUseProtection PersistentVolumeClaimResize RuntimeClass
  CertificateApproval CertificateSigning CertificateSubjectRestriction DefaultIngressClass DenyServiceExternalIPs
  MutatingAdmissionWebhook ValidatingAdmissionWebhook ResourceQuota AlwaysDeny`.split(/\s+/);

describe('ADMISSION_PLUGINS', () => {
  test('stand in the order of upstream', () => {
    const names: readonly string[] = ADMISSION_PLUGINS.map(({ name }) => name);
    const known = new Set(names);
    expect(names.toSorted((a, b) => UPSTREAM.indexOf(a) - UPSTREAM.indexOf(b))).toEqual(names);
    expect(UPSTREAM.filter((name) => known.has(name))).toHaveLength(names.length);
  });

  test('DenyServiceExternalIPs works only where it is enabled', () => {
    expect(enabledPlugins([], [])).not.toContain('DenyServiceExternalIPs');
    expect(enabledPlugins(['DenyServiceExternalIPs'], [])).toContain('DenyServiceExternalIPs');
    expect(enabledPlugins(['DenyServiceExternalIPs'], ['DenyServiceExternalIPs'])).not.toContain(
      'DenyServiceExternalIPs',
    );
  });
});
