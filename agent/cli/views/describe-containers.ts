/** Formats the containers of a pod. Pure. Omits values of environment variables, which may be secret. */
import type { Container, ContainerState, ContainerStatus, EnvVar, Pod, Probe } from '#api/gen/core-v1.ts';
import { formatSince } from '../args/duration.ts';
import { type Field, fieldLines, indent } from './fields.ts';

type ContainerSpec = Omit<Container, 'restartPolicy'> & {
  readonly restartPolicy?: string;
  readonly targetContainerName?: string;
};

export function describeContainers({ spec, status }: Pod, nowMs: number): string {
  const list = (
    title: string,
    specs: readonly ContainerSpec[] | undefined,
    statuses: readonly ContainerStatus[] | undefined,
  ): string => {
    if (specs === undefined || specs.length === 0) return '';
    const blocks = specs.map((container) => {
      const own = statuses?.find(({ name }) => name === container.name);
      return `${container.name}:\n${indent(fieldLines(containerFields(container, own, nowMs)))}`;
    });
    return `${title}:\n${indent(blocks.join(''))}`;
  };
  return [
    list('Init containers', spec?.initContainers, status?.initContainerStatuses),
    list('Containers', spec?.containers, status?.containerStatuses),
    list('Ephemeral containers', spec?.ephemeralContainers, status?.ephemeralContainerStatuses),
  ].join('');
}

function containerFields(
  spec: ContainerSpec,
  status: ContainerStatus | undefined,
  nowMs: number,
): readonly Field[] {
  return [
    ['Container ID', status?.containerID],
    ['Image', spec.image],
    ['Image ID', status?.imageID],
    ['Command', commandText(spec.command)],
    ['Arguments', commandText(spec.args)],
    ['Target', spec.targetContainerName],
    ['Ports', (spec.ports ?? []).map(portText)],
    ['State', stateLines(status?.state, nowMs) ?? 'not created'],
    ['Last state', stateLines(status?.lastState, nowMs)],
    ['Ready', status === undefined ? undefined : yesNo(status.ready)],
    ['Restarts', status?.restartCount.toString()],
    ['Restart policy', spec.restartPolicy],
    ['Limits', quantitiesText(spec.resources?.limits)],
    ['Requests', quantitiesText(spec.resources?.requests)],
    ['Startup probe', probeText(spec.startupProbe)],
    ['Liveness', probeText(spec.livenessProbe)],
    ['Readiness', probeText(spec.readinessProbe)],
    ['Environment', [...(spec.envFrom ?? []).map(envFromText), ...(spec.env ?? []).map(envText)]],
    ['Mounts', (spec.volumeMounts ?? []).map(mountText)],
  ];
}

const yesNo = (value: boolean): string => (value ? 'yes' : 'no');

const commandText = (command: readonly string[] | undefined): string | undefined =>
  command === undefined || command.length === 0
    ? undefined
    : command
        .map((argument) => (/^[\w./:=@%+,-]+$/.test(argument) ? argument : JSON.stringify(argument)))
        .join(' ');

type Port = NonNullable<Container['ports']>[number];

function portText({ containerPort, hostPort, hostIP = '', protocol = 'TCP', name = '' }: Port): string {
  const from = hostPort === undefined || hostPort === 0 ? '' : `${hostIP}:${hostPort} on the node to `;
  return `${from}${containerPort}/${protocol}${name === '' ? '' : ` (${name})`}`;
}

/** Formats the state of a container with its reason and times. */
function stateLines(state: ContainerState | undefined, nowMs: number): readonly string[] | undefined {
  const { running, waiting, terminated } = state ?? {};
  const ago = (time: string | undefined): string =>
    time === undefined ? '' : ` at ${time} (${formatSince(time, nowMs)} ago)`;
  if (running !== undefined) return [`running, started${ago(running.startedAt)}`];
  if (waiting !== undefined) return [`waiting: ${waiting.reason ?? ''}`, waiting.message ?? ''];
  if (terminated === undefined) return undefined;
  const { exitCode, signal, reason = '', message = '' } = terminated;
  const end = signal === undefined || signal === 0 ? `exit code ${exitCode}` : `signal ${signal}`;
  return [
    `terminated: ${reason} (${end})`,
    terminated.startedAt === undefined ? '' : `started${ago(terminated.startedAt)}`,
    `ended${ago(terminated.finishedAt)}`,
    ...message.split('\n'),
  ];
}

const quantitiesText = (amounts: Readonly<Record<string, unknown>> | undefined): string | undefined =>
  amounts === undefined || Object.keys(amounts).length === 0
    ? undefined
    : Object.entries(amounts)
        .map(([name, amount]) => `${name} ${String(amount)}`)
        .join(', ');

function probeText(probe: Probe | undefined): string | undefined {
  if (probe === undefined) return undefined;
  const { periodSeconds = 10, failureThreshold = 3, successThreshold = 1, timeoutSeconds = 1 } = probe;
  const delay = probe.initialDelaySeconds ?? 0;
  return [
    handlerText(probe),
    `every ${periodSeconds}s, timeout ${timeoutSeconds}s`,
    `after ${delay}s, fails after ${failureThreshold}, succeeds after ${successThreshold}`,
  ].join(', ');
}

function handlerText({ exec, httpGet, tcpSocket, grpc }: Probe): string {
  if (exec !== undefined) return `exec ${commandText(exec.command) ?? ''}`;
  if (grpc !== undefined) return `gRPC on port ${grpc.port}`;
  if (tcpSocket !== undefined) return `TCP ${tcpSocket.host ?? ''}:${tcpSocket.port}`;
  if (httpGet === undefined) return 'none';
  const { scheme = 'HTTP', host = '', port, path = '/' } = httpGet;
  return `GET ${scheme.toLowerCase()}://${host}:${port}${path}`;
}

type EnvFrom = NonNullable<Container['envFrom']>[number];

function envFromText({ configMapRef, secretRef, prefix = '' }: EnvFrom): string {
  const name =
    configMapRef === undefined ? `Secret ${secretRef?.name ?? ''}` : `ConfigMap ${configMapRef.name ?? ''}`;
  return `all of ${name}${prefix === '' ? '' : `, with ${prefix} before each name`}`;
}

function envText({ name, value, valueFrom }: EnvVar): string {
  const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef } = valueFrom ?? {};
  if (configMapKeyRef !== undefined) {
    return `${name} from ConfigMap ${configMapKeyRef.name ?? ''}, key ${configMapKeyRef.key}`;
  }
  if (secretKeyRef !== undefined)
    return `${name} from Secret ${secretKeyRef.name ?? ''}, key ${secretKeyRef.key}`;
  if (fieldRef !== undefined) return `${name} from field ${fieldRef.fieldPath}`;
  if (resourceFieldRef !== undefined) return `${name} from ${resourceFieldRef.resource}`;
  return value === undefined || value === '' ? `${name} (empty)` : `${name} (set)`;
}

type Mount = NonNullable<Container['volumeMounts']>[number];

function mountText({ mountPath, name, subPath = '', subPathExpr = '', readOnly = false }: Mount): string {
  const inside = subPath === '' ? subPathExpr : subPath;
  return `${mountPath} from ${name}${inside === '' ? '' : `/${inside}`}${readOnly ? ' (read-only)' : ''}`;
}
