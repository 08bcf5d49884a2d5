import { describe, expect, it, test } from 'vitest';
import type { Container, Pod, PodSpec, Volume } from '../gen/core-v1.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import { imageTag } from './default-conditions.ts';
import { applyDefaults } from './defaults.ts';

const withContainer = (container: Partial<Container>, spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'a' },
  spec: { containers: [{ name: 'a', image: 'x', ...container }], ...spec },
});
const container = (given: Partial<Container>, spec: Partial<PodSpec> = {}): Container | undefined =>
  applyDefaults('core/v1.Pod', withContainer(given, spec)).spec?.containers[0];
const volume = (given: Partial<Volume>): Volume | undefined =>
  applyDefaults('core/v1.Pod', withContainer({}, { volumes: [{ name: 'v', ...given }] })).spec?.volumes?.[0];

describe('applyDefaults to a pod', () => {
  it('fills the spec and the container', () => {
    expect(applyDefaults('core/v1.Pod', withContainer({}))).toEqual({
      metadata: { name: 'a' },
      spec: {
        containers: [
          {
            name: 'a',
            image: 'x',
            imagePullPolicy: 'Always',
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
          },
        ],
        restartPolicy: 'Always',
        dnsPolicy: 'ClusterFirst',
        terminationGracePeriodSeconds: 30,
        schedulerName: 'default-scheduler',
        securityContext: {},
        enableServiceLinks: true,
      },
    });
  });

  it('changes nothing that is set, zero behind a pointer included', () => {
    const given = withContainer(
      {
        image: 'x:1',
        imagePullPolicy: 'Never',
        terminationMessagePath: '/x',
        terminationMessagePolicy: 'FallbackToLogsOnError',
      },
      {
        restartPolicy: 'Never',
        dnsPolicy: 'Default',
        terminationGracePeriodSeconds: 0,
        schedulerName: 'mine',
        securityContext: { runAsUser: 1 },
        enableServiceLinks: false,
      },
    );
    expect(applyDefaults('core/v1.Pod', given)).toEqual(given);
  });

  it('is the same when applied twice, and leaves its input alone', () => {
    const given = withContainer(
      { livenessProbe: { httpGet: { port: 80 } }, ports: [{ containerPort: 80 }] },
      { hostNetwork: true, volumes: [{ name: 'v' }] },
    );
    const before = structuredClone(given);
    const once = applyDefaults('core/v1.Pod', given);
    expect(given).toEqual(before);
    expect(applyDefaults('core/v1.Pod', once)).toEqual(once);
  });

  test.each([
    ['x', 'Always'],
    ['x:latest', 'Always'],
    ['x:1', 'IfNotPresent'],
    ['host:5000/x', 'Always'],
    ['host:5000/x:1', 'IfNotPresent'],
    ['x@sha256:abc', 'IfNotPresent'],
    ['x:latest@sha256:abc', 'Always'],
    ['', 'Always'],
  ])('pulls %s: %s', (image, policy) => {
    expect(container({ image })?.imagePullPolicy).toBe(policy);
  });

  it('takes host ports from container ports with the host network only', () => {
    const ports = [{ containerPort: 80 }, { containerPort: 81, hostPort: 81, protocol: 'UDP' as const }];
    expect(container({ ports }, { hostNetwork: true })?.ports).toEqual([
      { containerPort: 80, hostPort: 80, protocol: 'TCP' },
      { containerPort: 81, hostPort: 81, protocol: 'UDP' },
    ]);
    expect(container({ ports })?.ports?.[0]).toEqual({ containerPort: 80, protocol: 'TCP' });
  });

  it('takes requests from limits and rounds both to milli units', () => {
    expect(
      container({ resources: { limits: { cpu: '1500u', memory: '1Gi' }, requests: { memory: '1Mi' } } })
        ?.resources,
    ).toEqual({
      limits: { cpu: '2m', memory: '1Gi' },
      requests: { cpu: '2m', memory: '1Mi' },
    });
    expect(container({ resources: {} })?.resources).toEqual({});
    expect(container({ resources: { requests: { cpu: '1' } } })?.resources).toEqual({
      requests: { cpu: '1' },
    });
  });

  it('fills probes and HTTP handlers wherever they are', () => {
    const given = {
      livenessProbe: { httpGet: { port: 80 }, timeoutSeconds: 0 },
      lifecycle: { preStop: { httpGet: { port: 1, scheme: 'HTTPS' as const } } },
    };
    expect(container(given)).toMatchObject({
      livenessProbe: {
        httpGet: { port: 80, path: '/', scheme: 'HTTP' },
        timeoutSeconds: 1,
        periodSeconds: 10,
        successThreshold: 1,
        failureThreshold: 3,
      },
      lifecycle: { preStop: { httpGet: { port: 1, path: '/', scheme: 'HTTPS' } } },
    });
    expect(container({ readinessProbe: { grpc: { port: 1 } } })?.readinessProbe?.grpc).toEqual({
      port: 1,
      service: '',
    });
  });

  it('reaches init and ephemeral containers', () => {
    const { spec } = applyDefaults(
      'core/v1.Pod',
      withContainer(
        {},
        { initContainers: [{ name: 'i', image: 'x:1' }], ephemeralContainers: [{ name: 'e', image: 'x:1' }] },
      ),
    );
    expect(spec?.initContainers?.[0]?.imagePullPolicy).toBe('IfNotPresent');
    expect(spec?.ephemeralContainers?.[0]).toMatchObject({
      imagePullPolicy: 'IfNotPresent',
      terminationMessagePolicy: 'File',
    });
  });

  it('names the version of field references', () => {
    const env = [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
    expect(container({ env })?.env?.[0]?.valueFrom?.fieldRef).toEqual({
      fieldPath: 'metadata.name',
      apiVersion: 'v1',
    });
  });
});

describe('applyDefaults to volumes', () => {
  test.each([
    ['no source', {}, { emptyDir: {} }],
    ['hostPath', { hostPath: { path: '/x' } }, { hostPath: { path: '/x', type: '' } }],
    ['configMap', { configMap: { name: 'c' } }, { configMap: { name: 'c', defaultMode: 420 } }],
    ['configMap with a mode', { configMap: { defaultMode: 0 } }, { configMap: { defaultMode: 0 } }],
    ['secret', { secret: {} }, { secret: { defaultMode: 420 } }],
    ['downwardAPI', { downwardAPI: {} }, { downwardAPI: { defaultMode: 420 } }],
    [
      'projected',
      { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
      {
        projected: {
          defaultMode: 420,
          sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }],
        },
      },
    ],
    [
      'rbd',
      { rbd: { image: 'i', monitors: [] } },
      { rbd: { image: 'i', monitors: [], pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
    ],
    [
      'iscsi',
      { iscsi: { targetPortal: 't', iqn: 'i', lun: 0 } },
      { iscsi: { targetPortal: 't', iqn: 'i', lun: 0, iscsiInterface: 'default' } },
    ],
    [
      'azureDisk',
      { azureDisk: { diskName: 'd', diskURI: 'u' } },
      {
        azureDisk: {
          diskName: 'd',
          diskURI: 'u',
          cachingMode: 'ReadWrite',
          kind: 'Shared',
          fsType: 'ext4',
          readOnly: false,
        },
      },
    ],
    [
      'ephemeral',
      { ephemeral: { volumeClaimTemplate: { spec: {} } } },
      { ephemeral: { volumeClaimTemplate: { spec: { volumeMode: 'Filesystem' } } } },
    ],
  ] as const)('%s', (_, given, expected) => {
    expect(volume(given)).toEqual({ name: 'v', ...expected });
  });
});

describe('applyDefaults to other kinds', () => {
  it('fills volumes, claims and secrets', () => {
    expect(applyDefaults('core/v1.PersistentVolume', { spec: {} })).toEqual({
      spec: { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' },
      status: { phase: 'Pending' },
    });
    expect(applyDefaults('core/v1.PersistentVolumeClaim', { spec: { volumeMode: 'Block' } })).toEqual({
      spec: { volumeMode: 'Block' },
      status: { phase: 'Pending' },
    });
    expect(applyDefaults('core/v1.Secret', {})).toEqual({ type: 'Opaque' });
    expect(applyDefaults('core/v1.ConfigMap', {})).toEqual({});
  });
});

describe('applyDefaults to an object without its spec', () => {
  const domain = VOCABULARIES.plat.apiGroupDomain;

  test.each([
    ['batch/v1.Job', { template: {}, backoffLimit: 6 }],
    ['batch/v1.CronJob', { schedule: '', jobTemplate: {}, concurrencyPolicy: 'Allow' }],
    ['autoscaling/v2.HorizontalPodAutoscaler', { scaleTargetRef: { kind: '', name: '' }, minReplicas: 1 }],
    [`networking.${domain}/v1.NetworkPolicy`, { podSelector: {}, policyTypes: ['Ingress'] }],
  ])('gives that of %s what a spec always has', (type, spec) => {
    expect(applyDefaults<{ spec?: unknown }>(type, {}).spec).toMatchObject(spec);
  });
});

describe('imageTag', () => {
  test.each([
    ['a', 'latest'],
    ['a:b', 'b'],
    ['h:1/a', 'latest'],
    ['h:1/a:b@sha256:c', 'b'],
    ['a@sha256:c', ''],
  ])('%s: %j', (image, tag) => expect(imageTag(image)).toBe(tag));
});
