/** The pods behind a service: under which addresses and ports they are reached, and whether they should be. Pure.
 *  Source: upstream's endpoint and endpoint slice controllers, release 1.24. */
import type { ObjectReference, Pod, Service, ServicePort } from '#api/schema/gen/core-v1.ts';

/** A port of a service as one pod offers it. */
export interface BackendPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly appProtocol?: string;
}

export interface Backend {
  /** All addresses of the pod, the first of its main family. */
  readonly ips: readonly string[];
  readonly ports: readonly BackendPort[];
  /** The pod says that it is ready. */
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly targetRef: ObjectReference;
  readonly nodeName?: string;
  /** Its name below the service's, if it asks for one. */
  readonly hostname?: string;
}

const isFinished = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

export const publishesUnready = ({ spec }: Service): boolean => spec?.publishNotReadyAddresses === true;

export const isHeadless = ({ spec }: Service): boolean => spec?.clusterIP === 'None';

/** The number behind a service's port in this pod; `undefined`: the pod has no port of that name. */
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

/** What the service finds in the pod; `undefined`: nothing that anybody could be sent to. */
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
