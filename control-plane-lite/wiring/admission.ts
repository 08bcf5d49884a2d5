/** Creates the configured admission plugins. */

import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import { notFound } from '#api/meta/status-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { alwaysAdmit, alwaysDeny } from '../admission/always.ts';
import { createCertificateAdmission } from '../admission/certificate-requests.ts';
import type { AdmissionPlugin } from '../admission/contract.ts';
import { createDefaultIngressClass, createDefaultStorageClass } from '../admission/default-class.ts';
import { createDefaultTolerations } from '../admission/default-tolerations.ts';
import type { AdmissionDeps, ObjectSource } from '../admission/deps.ts';
import { createEventRateLimit } from '../admission/event-rate-limit.ts';
import { createExtendedResources } from '../admission/extended-resources.ts';
import { createImageReviewClient } from '../admission/image-policy/webhook-client.ts';
import { createImagePolicy } from '../admission/image-policy.ts';
import { createLimitRanger } from '../admission/limit-ranger.ts';
import type { AdmissionMetrics, HookPhase } from '../admission/metrics.ts';
import { type AdmissionPluginName, enabledPlugins } from '../admission/names.ts';
import { createNamespaceAutoProvision } from '../admission/namespace-autoprovision.ts';
import { createNamespaceLifecycle } from '../admission/namespace-lifecycle.ts';
import { createPodNodeSelector, createPodTolerationRestriction } from '../admission/namespace-scheduling.ts';
import { createNodeRestriction } from '../admission/node-restriction.ts';
import {
  alwaysPullImages,
  createAntiAffinityLimit,
  createNamespaceExists,
  securityContextDeny,
} from '../admission/optional.ts';
import { createOwnerReferences } from '../admission/owner-references.ts';
import { createPodSecurity } from '../admission/pod-security.ts';
import { createPodSecurityPolicy } from '../admission/pod-security-policy.ts';
import { createPriority } from '../admission/priority.ts';
import { createRbacEscalation } from '../admission/rbac-escalation.ts';
import type { QuotaWriter } from '../admission/resource-quota/charge.ts';
import { createResourceQuotaAdmission } from '../admission/resource-quota.ts';
import { createRuntimeClassAdmission } from '../admission/runtime-class.ts';
import { createServiceAccountAdmission } from '../admission/service-account.ts';
import { denyServiceExternalIPs } from '../admission/service-external-ips.ts';
import { createClaimResize, createStorageProtection } from '../admission/storage.ts';
import { createTaintNodes } from '../admission/taint-nodes.ts';
import { createVolumeLabel } from '../admission/volume-label.ts';
import { createHookCaller } from '../admission/webhooks/call.ts';
import { createVersionsOf } from '../admission/webhooks/seen.ts';
import { createMutatingWebhooks, createValidatingWebhooks, type WebhookDeps } from '../admission/webhooks.ts';
import type { Cache, CachedObject } from '../cache/contract.ts';
import type { ServerConfig } from '../config/settings.ts';
import type { PendingCharges } from '../quota/pending.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';
import type { CheckIdentity } from '../webhooks/server-identity.ts';
import type { Access } from './access/access.ts';
import type { AdmissionSettings } from './admission-settings.ts';
import { createServiceFinder } from './service-finder.ts';

export interface AdmissionParts {
  readonly config: ServerConfig;
  readonly vocabulary: Vocabulary;
  readonly clock: AdmissionDeps['clock'];
  readonly gates: ReadonlySet<string>;
  readonly cache: Cache;
  readonly registry: ResourceRegistry;
  readonly access: Access;
  readonly log: Logger;
  readonly metrics: AdmissionMetrics;
  readonly checkIdentity: CheckIdentity;
  /** Closes the connections to webhooks. */
  readonly waits: Waits | undefined;
  /** Ends the connections to webhooks. */
  readonly signal: AbortSignal;
  /** Quota charges whose objects are not stored yet. */
  readonly pendingCharges: PendingCharges;
  /** Created after the plugins, and used only while a request is handled. */
  readonly verbs: () => Pick<Verbs, 'create' | 'update'>;
  /** Plugin settings, loaded from files. */
  readonly settings: AdmissionSettings;
}

type Make = (deps: AdmissionDeps, parts: AdmissionParts) => AdmissionPlugin | undefined;

/** Plugins of certificate signing requests share their creation. */
const certificatePlugin =
  (name: AdmissionPluginName): Make =>
  (deps) =>
    createCertificateAdmission(deps).find((plugin) => plugin.name === name);

const PLUGINS: Readonly<Record<AdmissionPluginName, Make>> = {
  AlwaysAdmit: () => alwaysAdmit,
  NamespaceAutoProvision: ({ objects }, parts) =>
    createNamespaceAutoProvision({ objects, createNamespace: namespaceMaker(parts) }),
  NamespaceLifecycle: (_, { cache, registry, vocabulary }) => {
    const namespaces = registry.find('', 'v1', 'namespaces');
    if (namespaces === undefined) return undefined;
    return createNamespaceLifecycle({ cache, namespaces: namespaces.storage, vocabulary });
  },
  NamespaceExists: createNamespaceExists,
  SecurityContextDeny: () => securityContextDeny,
  LimitPodHardAntiAffinityTopology: createAntiAffinityLimit,
  LimitRanger: createLimitRanger,
  ServiceAccount: createServiceAccountAdmission,
  NodeRestriction: ({ vocabulary, gates, objects }) => {
    const finder = (plural: string) => existing(objects('', plural), plural);
    const [findPod, findNode] = [finder('pods'), finder('nodes')];
    return createNodeRestriction({
      vocabulary,
      gates,
      findPod: (namespace, name) => findPod(`${namespace}/${name}`, name),
      findNode: (name) => findNode(name, name),
    });
  },
  TaintNodesByCondition: createTaintNodes,
  AlwaysPullImages: () => alwaysPullImages,
  ImagePolicyWebhook: ({ vocabulary, clock }, { settings: { imagePolicy }, log, waits }) => {
    if (imagePolicy === undefined) return undefined;
    const { backend, config } = imagePolicy;
    const own = log.child({ component: 'image-policy' });
    const review = createImageReviewClient(
      { backend, clock, log: own, waits, vocabulary, random: Math.random },
      config,
    );
    return createImagePolicy({ vocabulary, log: own, review }, config);
  },
  PodSecurity: (deps, { settings, gates }) =>
    gates.has('PodSecurity') ? createPodSecurity(deps, settings.podSecurity) : undefined,
  PodSecurityPolicy: createPodSecurityPolicy,
  PodNodeSelector: (deps, { settings }) => createPodNodeSelector(deps, settings.nodeSelectors),
  PodTolerationRestriction: (deps, { settings }) =>
    createPodTolerationRestriction(deps, settings.tolerations),
  Priority: createPriority,
  DefaultTolerationSeconds: (deps, { config }) =>
    createDefaultTolerations(deps, {
      notReadySeconds: config.defaultNotReadyTolerationSeconds,
      unreachableSeconds: config.defaultUnreachableTolerationSeconds,
    }),
  EventRateLimit: ({ clock }, { settings }) => createEventRateLimit(clock, settings.eventLimits),
  ExtendedResourceToleration: ({ vocabulary }) => createExtendedResources(vocabulary),
  OwnerReferencesPermissionEnforcement: ({ authorizer }, { registry }) =>
    createOwnerReferences({
      authorizer,
      resourceOf: (apiVersion, kind) => registry.findKind(apiVersion, kind)?.info,
    }),
  PersistentVolumeLabel: ({ vocabulary }) => createVolumeLabel(vocabulary),
  DefaultStorageClass: createDefaultStorageClass,
  StorageObjectInUseProtection: createStorageProtection,
  PersistentVolumeClaimResize: createClaimResize,
  RuntimeClass: createRuntimeClassAdmission,
  DefaultIngressClass: createDefaultIngressClass,
  DenyServiceExternalIPs: () => denyServiceExternalIPs,
  MutatingAdmissionWebhook: (deps, parts) => createMutatingWebhooks(webhookDeps(deps, parts, 'admit')),
  ValidatingAdmissionWebhook: (deps, parts) =>
    createValidatingWebhooks(webhookDeps(deps, parts, 'validating')),
  ResourceQuota: (deps, parts) =>
    createResourceQuotaAdmission(deps, { write: quotaWriter(parts), pending: parts.pendingCharges }),
  AlwaysDeny: () => alwaysDeny,
  CertificateApproval: certificatePlugin('CertificateApproval'),
  CertificateSigning: certificatePlugin('CertificateSigning'),
  CertificateSubjectRestriction: certificatePlugin('CertificateSubjectRestriction'),
};

/** Returns the plugins in the order of their calls. */
export function createAdmissionPlugins(parts: AdmissionParts): readonly AdmissionPlugin[] {
  const { config, access, vocabulary, clock, gates } = parts;
  const { authorizer, rbac, rbacGroup: group } = access;
  const objects = objectSources(parts);
  const deps: AdmissionDeps = { vocabulary, clock, gates, authorizer, objects };
  const named = enabledPlugins(config.enableAdmissionPlugins, config.disableAdmissionPlugins);
  return [
    ...named.flatMap((name) => PLUGINS[name](deps, parts) ?? []),
    // Not a plugin that can be disabled: without it RBAC would be ineffective.
    ...(rbac === undefined ? [] : [createRbacEscalation({ rbac, authorizer, group })]),
  ];
}

function webhookDeps(
  { vocabulary, objects, clock }: AdmissionDeps,
  parts: AdmissionParts,
  phase: HookPhase,
): WebhookDeps {
  const { mutatingCredentials, validatingCredentials } = parts.settings;
  const metrics = parts.metrics.hooks(phase);
  return {
    vocabulary,
    objects,
    metrics,
    versionsOf: createVersionsOf(parts.registry),
    caller: createHookCaller({
      vocabulary,
      clock,
      metrics,
      log: parts.log.child({ component: 'webhooks' }),
      signal: parts.signal,
      addressOf: createServiceFinder(parts).addressOf,
      checkIdentity: parts.checkIdentity,
      waits: parts.waits,
      credentials: phase === 'admit' ? mutatingCredentials : validatingCredentials,
    }),
  };
}

/** Creates namespaces on behalf of the server itself. */
const namespaceMaker =
  ({ registry, vocabulary, verbs, signal }: AdmissionParts): ((name: string) => Promise<void>) =>
  async (name) => {
    const resource = registry.find('', 'v1', 'namespaces');
    if (resource === undefined) return;
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    const { object: complete } = resource.schema.decode(object);
    resource.schema.applyDefaults?.(complete);
    await verbs().create({
      ref: { resource, namespace: '', name },
      object: complete,
      dryRun: false,
      fieldManager: `${vocabulary.componentPrefix}-apiserver`,
      caller: controllerCaller('namespace-autoprovision', signal),
    });
  };

/** Charges quotas on behalf of the server itself. */
const quotaWriter =
  ({ registry, vocabulary, verbs, signal }: AdmissionParts): QuotaWriter =>
  async (namespace, name, change) => {
    const resource = registry.find('', 'v1', 'resourcequotas');
    if (resource === undefined) return;
    const fieldManager = `${vocabulary.componentPrefix}-apiserver`;
    await verbs().update({
      ref: { resource, namespace, name },
      change,
      dryRun: false,
      fieldManager,
      subresource: 'status',
      caller: controllerCaller('resourcequota-admission', signal),
    });
  };

const NOTHING: ObjectSource = {
  get: () => undefined,
  find: () => Promise.resolve(undefined),
  follow: () => ({ close: () => undefined }),
};

function objectSources({ cache, registry }: AdmissionParts): AdmissionDeps['objects'] {
  return (group, plural) => {
    const resource = registry.find(group, 'v1', plural) ?? registry.find(group, 'v1beta1', plural);
    if (resource === undefined) return NOTHING;
    const objects = cache.resource(resource.storage);
    return {
      get: (key) => objects.get(key),
      async find(key) {
        const known = objects.get(key);
        if (known !== undefined) return known;
        // Another server may have created it a moment ago.
        await cache.waitForNewest();
        return objects.get(key);
      },
      follow: (listener) => objects.follow(listener),
    };
  };
}

/** Returns an object that must exist. @throws StatusError NotFound */
const existing =
  (source: ObjectSource, plural: string) =>
  async (key: string, name: string): Promise<CachedObject> => {
    const found = await source.find(key);
    if (found === undefined) throw notFound({ group: '', name: plural }, name);
    return found;
  };
