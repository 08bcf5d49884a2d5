/** Connect subresources of nodes, pods and services: logs, streams and proxies. Requests arrive authorized
 *  and admitted.
 *  Source: subresources, document 1 §4.2; upstream's connecters of pods, nodes and services. */
import { Agent } from 'node:https';
import type { Endpoints, Pod, Service } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { methodNotSupported, notFound } from '#api/meta/status-errors.ts';
import {
  type Agents,
  type AgentsDeps,
  createAgents,
  reachableAddress,
  type Target,
} from '../../agents/agents.ts';
import type { NodeAddressOptions } from '../../agents/node-address.ts';
import type { ApiRequest, ApiResponse } from '../../http/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { resourceSubject } from '../../verbs/deps.ts';
import { type ConnectRequest, isOn } from '../connect-options.ts';
import type { ConnectHandler } from '../deps.ts';
import { emptyLog, openLog } from './log.ts';
import { passThrough } from './pass-through.ts';
import { commandPath, logPath, portForwardPath, wantedStreams } from './pod-requests.ts';
import { type ProxyName, parsePort, parseProxyName } from './proxy-name.ts';
import { serviceEndpoint } from './service-target.ts';
import { type StreamTarget, streamResponse } from './streams.ts';

export interface ConnectProxyDeps extends Omit<AgentsDeps, 'node' | 'clock'> {
  readonly clock: Clock;
  /** Returns an object of the core group; an empty namespace for cluster-scoped ones. */
  readonly find: (plural: string, namespace: string, name: string) => ApiObject | undefined;
  /** Returns a random integer from 0 to below the count. */
  readonly choose: (count: number) => number;
}

export interface ConnectProxyOptions extends NodeAddressOptions {
  readonly connectTimeoutMs: number;
  /** Domain of the API groups. */
  readonly domain: string;
}

export interface ConnectProxy {
  readonly agents: Agents;
  /** Returns the handler of a subresource, if that leads to a node or a pod.
   *  @throws StatusError MethodNotAllowed */
  readonly connect: (request: ApiRequest, resource: Resource) => ConnectHandler | undefined;
  /** Closes pooled connections. */
  readonly close: () => void;
}

interface Parts extends ConnectProxyDeps, ConnectProxyOptions {
  readonly agents: Agents;
  /** Pools connections to agents. */
  readonly pooled: Agent;
}

type Connect = (
  parts: Parts,
  request: ApiRequest,
  target: ConnectRequest,
) => Promise<ApiResponse> | ApiResponse;

/** Idle connections are closed before agents close them. */
const IDLE_MS = 4000;

function podOf({ find }: Parts, { info }: ApiRequest, name: string = info.name): Pod {
  const pod = find('pods', info.namespace, name);
  if (pod === undefined) throw notFound({ group: '', name: 'pods' }, name);
  return typed<Pod>(pod);
}

async function log(parts: Parts, request: ApiRequest, { query }: ConnectRequest): Promise<ApiResponse> {
  const pod = podOf(parts, request);
  const path = logPath(pod, query);
  const nodeName = pod.spec?.nodeName ?? '';
  if (nodeName === '') return emptyLog();
  const isUnchecked = isOn(query, 'insecureSkipTLSVerifyBackend');
  const target = await (isUnchecked ? parts.agents.findUnchecked : parts.agents.find)(nodeName);
  const { clock, connectTimeoutMs, pooled: agent } = parts;
  return openLog({ target, path, agent, clock, connectTimeoutMs, signal: request.signal });
}

async function streams(
  parts: Parts,
  request: ApiRequest,
  wayOf: (pod: Pod) => Omit<StreamTarget, 'target'>,
): Promise<ApiResponse> {
  const pod = podOf(parts, request);
  const way = wayOf(pod);
  const nodeName = pod.spec?.nodeName ?? '';
  if (nodeName === '') {
    throw new StatusError('BadRequest', `pod ${request.info.name} does not have a host assigned`);
  }
  return streamResponse(parts, request, { ...way, target: await parts.agents.find(nodeName) });
}

const command =
  (endpoint: 'exec' | 'attach'): Connect =>
  (parts, request, { query }) =>
    streams(parts, request, (pod) => ({
      path: commandPath(endpoint, pod, query),
      command: wantedStreams(query),
    }));

const portForward: Connect = (parts, request, { query }) =>
  streams(parts, request, (pod) => ({ path: portForwardPath(pod, query) }));

function nameOf({ info }: ApiRequest, what: string): ProxyName {
  const name = parseProxyName(info.name);
  if (name !== undefined) return name;
  throw new StatusError('BadRequest', `invalid ${what} request ${JSON.stringify(info.name)}`);
}

function portOf(text: string, fallback: number): number {
  const port = text === '' ? fallback : parsePort(text);
  if (port !== undefined) return port;
  throw new StatusError('BadRequest', `${JSON.stringify(text)} is not a port from 1 to 65535`);
}

/** Proxied targets are unknown to this server, so their certificates prove nothing. */
const targetAt = (host: string, port: number, { scheme }: ProxyName): Target => ({
  host,
  port,
  ...(scheme === 'https' ? { tls: { rejectUnauthorized: false } } : {}),
});

async function nodeProxy(parts: Parts, request: ApiRequest, { path }: ConnectRequest): Promise<ApiResponse> {
  const name = nameOf(request, 'node');
  const own = parts.agents.addressOf(name.name);
  if (name.port === '' || Number(name.port) === own.port) {
    return passThrough(parts, request, await parts.agents.find(name.name), path, parts.pooled);
  }
  const port = portOf(name.port, own.port);
  const host = await reachableAddress(own.host, 'other', parts.lookup);
  return passThrough(parts, request, targetAt(host, port, name), path);
}

async function podProxy(parts: Parts, request: ApiRequest, { path }: ConnectRequest): Promise<ApiResponse> {
  const name = nameOf(request, 'pod');
  const { spec, status } = podOf(parts, request, name.name);
  const declared = spec?.containers.find(({ ports = [] }) => ports.length > 0)?.ports?.[0]?.containerPort;
  const port = portOf(name.port, declared ?? (name.scheme === 'https' ? 443 : 80));
  const address = status?.podIPs?.[0]?.ip ?? status?.podIP ?? '';
  if (address === '') throw new StatusError('BadRequest', 'address not allowed');
  const host = await reachableAddress(address, 'other', parts.lookup);
  return passThrough(parts, request, targetAt(host, port, name), path);
}

async function serviceProxy(
  parts: Parts,
  request: ApiRequest,
  { path }: ConnectRequest,
): Promise<ApiResponse> {
  const { find, choose, lookup } = parts;
  const { namespace } = request.info;
  const name = nameOf(request, 'service');
  const service = find('services', namespace, name.name);
  if (service === undefined) throw notFound({ group: '', name: 'services' }, name.name);
  const endpoints = find('endpoints', namespace, name.name);
  const endpoint = serviceEndpoint(
    {
      service: typed<Service>(service),
      endpoints: endpoints === undefined ? undefined : typed<Endpoints>(endpoints),
      pod(ofNamespace, podName) {
        const pod = find('pods', ofNamespace, podName);
        return pod === undefined ? undefined : typed<Pod>(pod);
      },
    },
    name,
    choose,
  );
  const host = await reachableAddress(endpoint.host, 'other', lookup);
  return passThrough(parts, request, targetAt(host, endpoint.port, name), path);
}

const STREAM_METHODS: readonly string[] = ['GET', 'POST'];

interface Way {
  readonly connect: Connect;
  /** Absent: all. */
  readonly methods?: readonly string[];
}

const WAYS: Readonly<Record<string, Way>> = {
  'pods/log': { connect: log, methods: ['GET', 'HEAD'] },
  'pods/exec': { connect: command('exec'), methods: STREAM_METHODS },
  'pods/attach': { connect: command('attach'), methods: STREAM_METHODS },
  'pods/portforward': { connect: portForward, methods: STREAM_METHODS },
  'pods/proxy': { connect: podProxy },
  'services/proxy': { connect: serviceProxy },
  'nodes/proxy': { connect: nodeProxy },
};

export function createConnectProxy(deps: ConnectProxyDeps, options: ConnectProxyOptions): ConnectProxy {
  const agents = createAgents({ ...deps, node: (name) => deps.find('nodes', '', name) }, options);
  const pooled = new Agent({ keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 32, scheduling: 'lifo' });
  const parts: Parts = { ...deps, ...options, agents, pooled };
  return {
    agents,
    connect({ info, method }, resource) {
      if (resource.info.group !== '') return undefined;
      const way = WAYS[`${resource.info.plural}/${info.subresource}`];
      if (way === undefined) return undefined;
      if (way.methods?.includes(method) === false)
        throw methodNotSupported(resourceSubject(resource), info.verb);
      return (request, target) => way.connect(parts, request, target);
    },
    close: () => pooled.destroy(),
  };
}
