/** Pods behind a service: their addresses, ports and readiness. Pure. Source: upstream's endpoint and
 *  endpoint slice controllers, release 1.24. */
import type { ObjectReference, Pod, Service, ServicePort } from '#api/gen/core-v1.ts';

/** A port of a service as one pod provides it. */
export interface BackendPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly appProtocol?: string;
}

export interface Backend {
  /** All addresses of the pod, primary family first. */
  readonly ips: readonly string[];
  readonly ports: readonly BackendPort[];
  /** The pod's Ready condition is true. */
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly targetRef: ObjectReference;
  readonly nodeName?: string;
  /** Its hostname below the service's domain, if it has one. */
  readonly hostname?: string;
}

const isFinished = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

export const publishesUnready = ({ spec }: Service): boolean => spec?.publishNotReadyAddresses === true;

export const isHeadless = ({ spec }: Service): boolean => spec?.clusterIP === 'None';

/** Target port number of a service port in this pod; `undefined`: the pod has no port of that name. */
function targetPortOf(
  { port, targetPort = port, protocol = 'TCP' }: ServicePort,
  { spec }: Pod,
): number | undefined {
  if (typeof targetPort === 'number') return targetPort === 0 ? port : targetPort;
  return spec?.containers
    .flatMap(({ ports = [] }) => ports)
    .find(({ name, protocol: of = 'TCP' }) => name === targetPort && of === protocol)?.containerPort;
}

function portsOf({ spec }: Service, pod: Pod): readonly BackendPort[] {
  return (spec?.ports ?? []).flatMap((port) => {
    const number = targetPortOf(port, pod);
    if (number === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = port;
    return [{ name, port: number, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}

/** The pod as a backend of the service; `undefined`: it has no usable address. */
export function backendOf(service: Service, pod: Pod): Backend | undefined {
  const { status, spec, metadata = {} } = pod;
  const first = status?.podIP ?? '';
  if (first === '' || isFinished(pod)) return undefined;
  const more = (status?.podIPs ?? []).flatMap(({ ip }) => (ip === undefined || ip === first ? [] : [ip]));
  const ports = portsOf(service, pod);
  if (ports.length === 0 && (service.spec?.ports ?? []).length > 0) return undefined;
  const { hostname = '', subdomain, nodeName } = spec ?? {};
  const { namespace = '', name = '', uid = '' } = metadata;
  return {
    ips: [first, ...more],
    ports,
    serving: status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
    terminating: metadata.deletionTimestamp !== undefined,
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(nodeName === undefined || nodeName === '' ? {} : { nodeName }),
    ...(hostname !== '' && subdomain === service.metadata?.name ? { hostname } : {}),
  };
}
