import { describe, expect, test } from 'vitest';
import { errorsOf, type PodChanges } from './base-pod.fixture.ts';

type Row = readonly [name: string, changes: PodChanges, errors?: readonly string[]];

/** Rows whose errors are all of the first container: `FieldValueInvalid image`. */
function rows(
  table: readonly (readonly [name: string, container: object, errors?: readonly string[]])[],
): void {
  test.each(table.map(([name, container, errors = []]) => ({ name, container, errors })))(
    '$name',
    ({ container, errors }) => {
      expect(errorsOf({ container })).toEqual(
        errors.map((error) => error.replace(' ', ' spec.containers[0].')),
      );
    },
  );
}

function podRows(table: readonly Row[]): void {
  test.each(table.map(([name, changes, errors = []]) => ({ name, changes, errors })))(
    '$name',
    ({ changes, errors }) => {
      expect(errorsOf(changes)).toEqual(errors);
    },
  );
}

const other = { name: 'other', image: 'x' };

describe('container', () => {
  rows([
    ['without a name', { name: '' }, ['FieldValueRequired name']],
    ['with a bad name', { name: 'A' }, ['FieldValueInvalid name']],
    ['without an image', { image: '' }, ['FieldValueRequired image']],
    ['with blanks around its image', { image: ' x' }, ['FieldValueInvalid image']],
    [
      'with NUL in its words',
      { command: ['a\0'], args: ['x', 'b\0'] },
      ['FieldValueInvalid command[0]', 'FieldValueInvalid args[1]'],
    ],
    ['with restartPolicy', { restartPolicy: 'Always' }, ['FieldValueForbidden restartPolicy']],
  ]);
  podRows([
    ['list that is empty', { spec: { containers: [] } }, ['FieldValueRequired spec.containers']],
    [
      'names that are used twice in the pod',
      { spec: { containers: [other, other], initContainers: [other], ephemeralContainers: [other] } },
      [
        'FieldValueDuplicate spec.containers[1].name',
        'FieldValueDuplicate spec.initContainers[0].name',
        'FieldValueDuplicate spec.ephemeralContainers[0].name',
      ],
    ],
  ]);
});

describe('ports', () => {
  rows([
    [
      'that are good',
      { ports: [{ name: 'http', containerPort: 80, hostPort: 8080, hostIP: '::', protocol: 'SCTP' }] },
    ],
    ['without a number', { ports: [{ name: 'a' }] }, ['FieldValueRequired ports[0].containerPort']],
    [
      'that are out of range',
      { ports: [{ containerPort: 65_536, hostPort: -1, hostIP: 'x' }] },
      [
        'FieldValueInvalid ports[0].containerPort',
        'FieldValueInvalid ports[0].hostPort',
        'FieldValueInvalid ports[0].hostIP',
      ],
    ],
    [
      'with bad names',
      {
        ports: [
          { name: '80', containerPort: 80 },
          { name: 'a', containerPort: 1 },
          { name: 'a', containerPort: 2 },
        ],
      },
      ['FieldValueInvalid ports[0].name', 'FieldValueDuplicate ports[2].name'],
    ],
    [
      'that want a host port twice',
      {
        ports: [
          { containerPort: 1, hostPort: 5 },
          { containerPort: 2, hostPort: 5 },
          { containerPort: 2, hostPort: 5, protocol: 'UDP' },
          { containerPort: 2, hostPort: 5, hostIP: '10.0.0.1' },
        ],
      },
      ['FieldValueDuplicate ports[1].hostPort'],
    ],
  ]);
  const port = { ports: [{ containerPort: 1, hostPort: 5 }] };
  podRows([
    [
      'of two containers',
      {
        spec: {
          containers: [
            { ...other, ...port },
            { ...other, ...port, name: 'b' },
          ],
        },
      },
      ['FieldValueDuplicate spec.containers[1].ports[0].hostPort'],
    ],
    [
      'of an init container and a container',
      { container: port, spec: { initContainers: [{ ...other, ...port }] } },
    ],
    [
      'of a sidecar and a container',
      {
        spec: {
          initContainers: [{ ...other, ...port, restartPolicy: 'Always' }],
          containers: [{ ...other, ...port, name: 'b' }],
        },
      },
      ['FieldValueDuplicate spec.containers[0].ports[0].hostPort'],
    ],
    [
      'that differ on the host network',
      { container: port, spec: { hostNetwork: true, containers: [{ ...other, ...port }] } },
      ['FieldValueInvalid spec.containers[0].ports[0].hostPort'],
    ],
  ]);
});

describe('env', () => {
  const from = (valueFrom: object): object => ({ env: [{ name: 'A', valueFrom }] });
  const at = 'env[0].valueFrom';
  rows([
    ['with values', { env: [{ name: 'A' }, { name: 'a.b-c', value: 'x' }, { name: 'A', value: 'again' }] }],
    [
      'with bad names',
      { env: [{ name: '' }, { name: '1' }, { name: 'a=b' }] },
      ['FieldValueRequired env[0].name', 'FieldValueInvalid env[1].name', 'FieldValueInvalid env[2].name'],
    ],
    ['with NUL in a value', { env: [{ name: 'A', value: '\0' }] }, ['FieldValueInvalid env[0].value']],
    [
      'with value and valueFrom',
      { env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      ['FieldValueInvalid env[0].valueFrom'],
    ],
    ['from nothing', from({}), [`FieldValueRequired ${at}`]],
    [
      'from two sources',
      from({ secretKeyRef: { name: 'a', key: 'b' }, configMapKeyRef: { name: 'a', key: 'b' } }),
      [`FieldValueForbidden ${at}.secretKeyRef`],
    ],
    [
      'from keys',
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'a', key: 'b.c', optional: true } } }] },
    ],
    [
      'from no key',
      from({ configMapKeyRef: { name: '', key: '' } }),
      [`FieldValueRequired ${at}.configMapKeyRef.name`, `FieldValueRequired ${at}.configMapKeyRef.key`],
    ],
    [
      'from a bad key',
      from({ secretKeyRef: { name: 'a', key: 'b/c' } }),
      [`FieldValueInvalid ${at}.secretKeyRef.key`],
    ],
    ['from an address', from({ fieldRef: { fieldPath: 'status.podIPs' } })],
    ['from a label', from({ fieldRef: { fieldPath: "metadata.labels['x.io/a']" } })],
    [
      'from a bad label',
      from({ fieldRef: { fieldPath: "metadata.labels['a b']" } }),
      [`FieldValueInvalid ${at}.fieldRef.fieldPath`],
    ],
    [
      'from all labels',
      from({ fieldRef: { fieldPath: 'metadata.labels' } }),
      [`FieldValueNotSupported ${at}.fieldRef.fieldPath`],
    ],
    ['from no field', from({ fieldRef: { fieldPath: '' } }), [`FieldValueRequired ${at}.fieldRef.fieldPath`]],
    [
      'from a field of another version',
      from({ fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.uid' } }),
      [`FieldValueNotSupported ${at}.fieldRef.apiVersion`],
    ],
    ['from a resource', from({ resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } })],
    ['from huge pages', from({ resourceFieldRef: { resource: 'requests.hugepages-2Mi' } })],
    [
      'from a resource with divisor 1000m',
      from({ resourceFieldRef: { resource: 'limits.cpu', divisor: '1000m' } }),
    ],
    [
      'from a bad divisor',
      from({ resourceFieldRef: { resource: 'limits.cpu', divisor: '1Ki' } }),
      [`FieldValueNotSupported ${at}.resourceFieldRef.divisor`],
    ],
    [
      'from an unknown resource',
      from({ resourceFieldRef: { resource: 'cpu' } }),
      [`FieldValueNotSupported ${at}.resourceFieldRef.resource`],
    ],
    [
      'from sets',
      {
        envFrom: [
          { prefix: 'A_', configMapRef: { name: 'a' } },
          { secretRef: { name: 'b', optional: true } },
        ],
      },
    ],
    [
      'from bad sets',
      {
        envFrom: [
          {},
          { prefix: '1', configMapRef: {} },
          { configMapRef: { name: 'a' }, secretRef: { name: 'A' } },
        ],
      },
      [
        'FieldValueRequired envFrom[0]',
        'FieldValueInvalid envFrom[1].prefix',
        'FieldValueRequired envFrom[1].configMapRef.name',
        'FieldValueForbidden envFrom[2].secretRef',
        'FieldValueInvalid envFrom[2].secretRef.name',
      ],
    ],
  ]);
});

describe('resources', () => {
  const resources = (limits: object, requests: object = {}): object => ({ resources: { limits, requests } });
  rows([
    ['that are common', resources({ cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Gi' }, { cpu: '100m' })],
    ['of a device', resources({ 'x.io/gpu': '2' })],
    ['with huge pages', resources({ 'hugepages-2Mi': '4Mi', memory: '1Gi' })],
    ['with huge pages alone', resources({ 'hugepages-2Mi': '4Mi' }), ['FieldValueForbidden resources']],
    [
      'above their limit',
      resources({ cpu: '1' }, { cpu: '1100m' }),
      ['FieldValueInvalid resources.requests[cpu]'],
    ],
    [
      'that are negative',
      resources({ memory: '-1' }),
      ['FieldValueInvalid resources.limits[memory]', 'FieldValueInvalid resources.requests[memory]'],
    ],
    [
      'of unknown names',
      resources({ gpu: '1', 'a b': '1' }),
      [
        'FieldValueInvalid resources.limits[gpu]',
        'FieldValueInvalid resources.limits[a b]',
        'FieldValueInvalid resources.requests[gpu]',
        'FieldValueInvalid resources.requests[a b]',
      ],
    ],
    [
      'of part of a device',
      resources({ 'x.io/gpu': '500m' }),
      ['FieldValueInvalid resources.limits[x.io/gpu]', 'FieldValueInvalid resources.requests[x.io/gpu]'],
    ],
    [
      'of a device without a limit',
      resources({}, { 'x.io/gpu': '1' }),
      ['FieldValueRequired resources.limits[x.io/gpu]'],
    ],
    [
      'of fewer devices than the limit',
      resources({ 'x.io/gpu': '2' }, { 'x.io/gpu': '1' }),
      ['FieldValueInvalid resources.requests[x.io/gpu]'],
    ],
  ]);
});

describe('mounts', () => {
  const mounts = (...volumeMounts: readonly object[]): object => ({ volumeMounts });
  rows([
    [
      'that are good',
      mounts(
        { name: 'data', mountPath: '/a', subPath: 'x/y' },
        { name: 'data', mountPath: '/b', subPathExpr: '$(A)' },
      ),
    ],
    [
      'of no volume',
      mounts({ name: 'gone', mountPath: '/a' }, { name: '', mountPath: '/b' }),
      ['FieldValueNotFound volumeMounts[0].name', 'FieldValueRequired volumeMounts[1].name'],
    ],
    [
      'without a path',
      mounts({ name: 'data', mountPath: '' }),
      ['FieldValueRequired volumeMounts[0].mountPath'],
    ],
    [
      'at one path',
      mounts({ name: 'data', mountPath: '/a' }, { name: 'data', mountPath: '/a' }),
      ['FieldValueInvalid volumeMounts[1].mountPath'],
    ],
    [
      'at a path with a colon',
      mounts({ name: 'data', mountPath: '/a:/b' }),
      ['FieldValueInvalid volumeMounts[0].mountPath'],
    ],
    [
      'that lead out of the volume',
      mounts(
        { name: 'data', mountPath: '/a', subPath: '../x' },
        { name: 'data', mountPath: '/b', subPath: '/x' },
        { name: 'data', mountPath: '/c', subPathExpr: 'a/..' },
      ),
      [
        'FieldValueInvalid volumeMounts[0].subPath',
        'FieldValueInvalid volumeMounts[1].subPath',
        'FieldValueInvalid volumeMounts[2].subPathExpr',
      ],
    ],
    [
      'with two kinds of subPath',
      mounts({ name: 'data', mountPath: '/a', subPath: 'x', subPathExpr: 'y' }),
      ['FieldValueInvalid volumeMounts[0].subPathExpr'],
    ],
    ['that propagate', mounts({ name: 'data', mountPath: '/a', mountPropagation: 'HostToContainer' })],
    [
      'that propagate to the host',
      mounts({ name: 'data', mountPath: '/a', mountPropagation: 'Bidirectional' }),
      ['FieldValueForbidden volumeMounts[0].mountPropagation'],
    ],
    [
      'that propagate to the host from a privileged container',
      {
        ...mounts({ name: 'data', mountPath: '/a', mountPropagation: 'Bidirectional' }),
        securityContext: { privileged: true },
      },
    ],
    [
      'of devices that are none',
      { volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] },
      ['FieldValueInvalid volumeDevices[0].name'],
    ],
  ]);
  const volumes = [{ name: 'disk', persistentVolumeClaim: { claimName: 'c' } }];
  podRows([
    [
      'of a device',
      { spec: { volumes }, container: { volumeDevices: [{ name: 'disk', devicePath: '/dev/x' }] } },
    ],
    [
      'of a device in bad places',
      {
        spec: { volumes },
        container: {
          volumeDevices: [
            { name: 'disk', devicePath: '/dev/../x' },
            { name: 'disk', devicePath: '' },
          ],
          volumeMounts: [{ name: 'disk', mountPath: '/m' }],
        },
      },
      [
        'FieldValueInvalid spec.containers[0].volumeMounts[0].name',
        'FieldValueInvalid spec.containers[0].volumeDevices[0].devicePath',
        'FieldValueInvalid spec.containers[0].volumeDevices[1].name',
        'FieldValueRequired spec.containers[0].volumeDevices[1].devicePath',
      ],
    ],
  ]);
});

describe('probes', () => {
  const liveness = (livenessProbe: object): object => ({ livenessProbe });
  const exec = { exec: { command: ['true'] } };
  rows([
    ['by command', liveness(exec)],
    ['by HTTP', liveness({ httpGet: { port: 'http', httpHeaders: [{ name: 'X-A', value: 'b' }] } })],
    ['by TCP', { readinessProbe: { tcpSocket: { port: 1 }, successThreshold: 3 } }],
    ['by gRPC', { startupProbe: { grpc: { port: 1 } } }],
    ['by nothing', liveness({}), ['FieldValueRequired livenessProbe']],
    [
      'by two means',
      liveness({ ...exec, tcpSocket: { port: 1 } }),
      ['FieldValueForbidden livenessProbe.tcpSocket'],
    ],
    ['by no command', liveness({ exec: {} }), ['FieldValueRequired livenessProbe.exec.command']],
    [
      'of bad ports',
      {
        livenessProbe: { httpGet: { port: 0 } },
        readinessProbe: { tcpSocket: { port: 'a--b' } },
        startupProbe: { grpc: { port: 65_536 } },
      },
      [
        'FieldValueInvalid livenessProbe.httpGet.port',
        'FieldValueInvalid readinessProbe.tcpSocket.port',
        'FieldValueInvalid startupProbe.grpc.port',
      ],
    ],
    [
      'with headers that would add others',
      liveness({
        httpGet: {
          port: 1,
          httpHeaders: [
            { name: 'A B', value: 'x' },
            { name: 'A', value: 'x\r\nB: y' },
          ],
        },
      }),
      [
        'FieldValueInvalid livenessProbe.httpGet.httpHeaders[0].name',
        'FieldValueInvalid livenessProbe.httpGet.httpHeaders[1].value',
      ],
    ],
    [
      'with negative times',
      liveness({
        ...exec,
        initialDelaySeconds: -1,
        timeoutSeconds: -1,
        periodSeconds: -1,
        failureThreshold: -1,
        successThreshold: -1,
      }),
      ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'failureThreshold', 'successThreshold'].map(
        (member) => `FieldValueInvalid livenessProbe.${member}`,
      ),
    ],
    [
      'that need two successes to let live',
      { livenessProbe: { ...exec, successThreshold: 2 }, startupProbe: { ...exec, successThreshold: 2 } },
      ['FieldValueInvalid livenessProbe.successThreshold', 'FieldValueInvalid startupProbe.successThreshold'],
    ],
    ['with a grace period of their own', liveness({ ...exec, terminationGracePeriodSeconds: 1 })],
    [
      'with grace where nothing ends',
      {
        readinessProbe: { ...exec, terminationGracePeriodSeconds: 1 },
        livenessProbe: { ...exec, terminationGracePeriodSeconds: 0 },
      },
      [
        'FieldValueInvalid livenessProbe.terminationGracePeriodSeconds',
        'FieldValueForbidden readinessProbe.terminationGracePeriodSeconds',
      ],
    ],
  ]);
});

describe('hooks', () => {
  rows([
    [
      'of each kind',
      { lifecycle: { postStart: { exec: { command: ['a'] } }, preStop: { tcpSocket: { port: 1 } } } },
    ],
    ['that do nothing', { lifecycle: { preStop: {} } }, ['FieldValueRequired lifecycle.preStop']],
    [
      'that do two things',
      { lifecycle: { postStart: { exec: { command: ['a'] }, httpGet: { port: 1 } } } },
      ['FieldValueForbidden lifecycle.postStart.httpGet'],
    ],
  ]);
});

describe('security context of the container', () => {
  const security = (securityContext: object): object => ({ securityContext });
  rows([
    [
      'with everything',
      security({
        runAsUser: 1,
        runAsGroup: 1,
        capabilities: { add: ['NET_ADMIN', 'CAP_CHOWN'], drop: ['ALL'] },
        allowPrivilegeEscalation: false,
      }),
    ],
    [
      'with ids out of range',
      security({ runAsUser: -1, runAsGroup: 2 ** 31 }),
      ['FieldValueInvalid securityContext.runAsUser', 'FieldValueInvalid securityContext.runAsGroup'],
    ],
    [
      'with a capability that is none',
      security({ capabilities: { add: [''], drop: ['A B'] } }),
      [
        'FieldValueInvalid securityContext.capabilities.add[0]',
        'FieldValueInvalid securityContext.capabilities.drop[0]',
      ],
    ],
    [
      'that is privileged and must not rise',
      security({ privileged: true, allowPrivilegeEscalation: false }),
      ['FieldValueInvalid securityContext.allowPrivilegeEscalation'],
    ],
    [
      'that has SYS_ADMIN and must not rise',
      security({ capabilities: { add: ['CAP_SYS_ADMIN'] }, allowPrivilegeEscalation: false }),
      ['FieldValueInvalid securityContext.allowPrivilegeEscalation'],
    ],
    [
      'with an empty local profile',
      security({ seccompProfile: { type: 'Localhost', localhostProfile: '' } }),
      ['FieldValueRequired securityContext.seccompProfile.localhostProfile'],
    ],
  ]);
});

describe('init containers', () => {
  const members = {
    livenessProbe: { exec: { command: ['a'] } },
    lifecycle: { preStop: { exec: { command: ['a'] } } },
  };
  podRows([
    ['that end', { spec: { initContainers: [other] } }],
    [
      'that end have neither probes nor hooks',
      { spec: { initContainers: [{ ...other, ...members }] } },
      [
        'FieldValueForbidden spec.initContainers[0].livenessProbe',
        'FieldValueForbidden spec.initContainers[0].lifecycle',
      ],
    ],
    [
      'that stay may have both',
      { spec: { initContainers: [{ ...other, ...members, restartPolicy: 'Always' }] } },
    ],
    [
      'that stay have them checked',
      { spec: { initContainers: [{ ...other, restartPolicy: 'Always', startupProbe: {} }] } },
      ['FieldValueRequired spec.initContainers[0].startupProbe'],
    ],
  ]);
});

describe('ephemeral containers', () => {
  const ephemeral = (members: object): PodChanges => ({
    spec: { ephemeralContainers: [{ ...other, ...members }] },
  });
  const at = 'spec.ephemeralContainers[0]';
  podRows([
    [
      'beside a container',
      ephemeral({ targetContainerName: 'app', volumeMounts: [{ name: 'data', mountPath: '/d' }] }),
    ],
    [
      'beside no container',
      ephemeral({ targetContainerName: 'gone' }),
      [`FieldValueNotFound ${at}.targetContainerName`],
    ],
    [
      'with what they cannot have',
      ephemeral({
        ports: [{ containerPort: 1 }],
        resources: { limits: { cpu: '1' } },
        livenessProbe: {},
        lifecycle: {},
        volumeMounts: [{ name: 'data', mountPath: '/d', subPath: 'x' }],
      }),
      [
        `FieldValueForbidden ${at}.volumeMounts[0].subPath`,
        ...['livenessProbe', 'lifecycle', 'ports', 'resources'].map(
          (member) => `FieldValueForbidden ${at}.${member}`,
        ),
      ],
    ],
  ]);
});
