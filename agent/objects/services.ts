/** Services of the API server as environment variables of pods.
 *  Source: service environment variables, document 3 §2; upstream 1.24. */

import { isObject } from '#api/kit/object.ts';
import type { Json } from '../api-client/client.ts';
import { metadataText } from '../api-client/object-fields.ts';
import type { ObjectChange, ReflectorSink } from '../api-client/watch/reflector.ts';

export interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
}

/** A service with a cluster IP. */
export interface ServiceAddress {
  readonly namespace: string;
  readonly name: string;
  readonly clusterIP: string;
  readonly ports: readonly ServicePort[];
}

/** Parses a service; undefined for one without a cluster IP. Pure. */
export function readService(object: Json): ServiceAddress | undefined {
  const namespace = metadataText(object, 'namespace');
  const name = metadataText(object, 'name');
  const spec = isObject(object['spec']) ? object['spec'] : {};
  const { clusterIP, ports } = spec;
  if (namespace === undefined || name === undefined) return undefined;
  if (typeof clusterIP !== 'string' || clusterIP === '' || clusterIP === 'None') return undefined;
  const found = (Array.isArray(ports) ? ports.filter(isObject) : []).flatMap((entry): ServicePort[] => {
    const { name: portName, port, protocol } = entry;
    if (typeof port !== 'number') return [];
    return [
      {
        name: typeof portName === 'string' ? portName : '',
        port,
        protocol: typeof protocol === 'string' ? protocol : 'TCP',
      },
    ];
  });
  return { namespace, name, clusterIP, ports: found };
}

export interface ServiceScope {
  readonly namespace: string;
  /** Name and namespace of the API server's service. */
  readonly apiService: string;
  readonly masterNamespace: string;
  /** False restricts the variables to the API server's service. */
  readonly links: boolean;
}

/** Returns the service variables for pods of a namespace. Pure. */
export function serviceEnv(
  services: readonly ServiceAddress[],
  { namespace, apiService, masterNamespace, links }: ServiceScope,
): Readonly<Record<string, string>> {
  const own = links ? services.filter((service) => service.namespace === namespace) : [];
  // A service in the namespace of the pod takes precedence over one with the same name.
  const master = services.filter(
    (service) =>
      service.namespace === masterNamespace &&
      service.name === apiService &&
      !own.some(({ name }) => name === service.name),
  );
  return Object.fromEntries([...master, ...own].flatMap(variablesOf));
}

const variableName = (text: string): string => text.toUpperCase().replaceAll('-', '_');

function variablesOf({ name, clusterIP, ports }: ServiceAddress): readonly (readonly [string, string])[] {
  const prefix = variableName(name);
  const [first] = ports;
  if (first === undefined) return [];
  const host = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP;
  const url = ({ port, protocol }: ServicePort): string => `${protocol.toLowerCase()}://${host}:${port}`;
  return [
    [`${prefix}_SERVICE_HOST`, clusterIP],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
    ...ports
      .filter((port) => port.name !== '')
      .map((port) => [`${prefix}_SERVICE_PORT_${variableName(port.name)}`, String(port.port)] as const),
    [`${prefix}_PORT`, url(first)],
    ...ports.flatMap((port) => {
      const one = `${prefix}_PORT_${port.port}_${port.protocol.toUpperCase()}`;
      return [
        [one, url(port)],
        [`${one}_PROTO`, port.protocol.toLowerCase()],
        [`${one}_PORT`, String(port.port)],
        [`${one}_ADDR`, clusterIP],
      ] as const;
    }),
  ];
}

export interface ServiceTable extends ReflectorSink {
  /** Returns every service with a cluster IP; undefined before the first list if none was persisted. */
  list(): readonly ServiceAddress[] | undefined;
  /** Resolves when a list is available, or when the signal fires. */
  whenKnown(signal: AbortSignal): Promise<void>;
  /** Restores the persisted list, unless the server has delivered one in the meantime. */
  restore(saved: readonly ServiceAddress[]): void;
}

/** @param changed called with all services after each change */
export function createServiceTable(changed: (all: readonly ServiceAddress[]) => void): ServiceTable {
  let services: Map<string, ServiceAddress> | undefined;
  const known = Promise.withResolvers<void>();
  const keyOf = (object: Json): string =>
    `${metadataText(object, 'namespace')}/${metadataText(object, 'name')}`;

  return {
    list: () => (services === undefined ? undefined : [...services.values()]),
    async whenKnown(signal) {
      if (services !== undefined || signal.aborted) return;
      const given = Promise.withResolvers<void>();
      const onAbort = (): void => given.resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      await Promise.race([known.promise, given.promise]);
      signal.removeEventListener('abort', onAbort);
    },
    restore(saved) {
      services ??= new Map(saved.map((service) => [`${service.namespace}/${service.name}`, service]));
      known.resolve();
    },
    replace(objects) {
      services = new Map(
        objects.flatMap((object) => {
          const service = readService(object);
          return service === undefined ? [] : [[keyOf(object), service] as const];
        }),
      );
      known.resolve();
      changed([...services.values()]);
    },
    change({ type, object }: ObjectChange) {
      services ??= new Map();
      const service = type === 'DELETED' ? undefined : readService(object);
      if (service === undefined) services.delete(keyOf(object));
      else services.set(keyOf(object), service);
      changed([...services.values()]);
    },
  };
}

/** Parses persisted services; undefined if they are malformed. Pure. */
export function readSavedServices(value: unknown): readonly ServiceAddress[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter(isObject).flatMap(({ namespace, name, ...spec }) => {
    return readService({ metadata: { namespace, name }, spec }) ?? [];
  });
}
