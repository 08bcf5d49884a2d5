/** Streams of a pod (exec, attach, port-forward): authorized requests are piped to the agent of its node byte
 *  by byte. Only protocols that no runtime speaks are translated: the newest WebSocket subprotocols. */
import type { Clock } from '#api/kit/clock.ts';
import { splice } from '#api/kit/sockets/splice.ts';
import { StatusError } from '#api/meta/status-error.ts';
import {
  PORT_FORWARD_TUNNEL,
  PORT_FORWARD_V1,
  REMOTE_COMMAND_V4,
  REMOTE_COMMAND_V5,
} from '#api/vocabulary.ts';
import type { Target } from '../../agents/agents.ts';
import type { ApiRequest, RawExchange, RawResponse } from '../../http/contract.ts';
import { proxyRequest } from '../../http/proxy/proxy.ts';
import { readSubprotocols } from '../../http/request/subprotocols.ts';
import { acceptClient } from './accept-websocket.ts';
import { type Dialed, dialSpdy } from './dial-spdy.ts';
import { agentUnreachable } from './log.ts';
import { createMessageStream } from './message-stream.ts';
import type { WantedStreams } from './pod-requests.ts';
import { openCommandStreams, translateCommand } from './translate-command.ts';

export interface StreamDeps {
  readonly clock: Clock;
  /** Domain of the API groups. */
  readonly domain: string;
  readonly connectTimeoutMs: number;
}

export interface StreamTarget {
  readonly target: Target;
  /** Including the query. */
  readonly path: string;
  /** Absent for port-forward. */
  readonly command?: WantedStreams;
}

/** The agent sees this server's client certificate; it must not judge by the origin of the client's page. */
const TO_AGENT: Readonly<Record<string, readonly string[]>> = { Origin: [] };

type Upgrade = RawExchange & { readonly kind: 'upgrade' };

function dial(deps: StreamDeps, request: ApiRequest, way: StreamTarget, protocol: string): Promise<Dialed> {
  const { clock, connectTimeoutMs } = deps;
  const { target, path } = way;
  return dialSpdy({ target, path, protocol, clock, connectTimeoutMs, signal: request.signal });
}

async function runCommand(
  deps: StreamDeps,
  request: ApiRequest,
  raw: Upgrade,
  way: StreamTarget & { readonly command: WantedStreams },
): Promise<void> {
  const dialed = await dial(deps, request, way, REMOTE_COMMAND_V4);
  const streams = await openCommandStreams(dialed, way.command).catch((thrown: unknown) => {
    throw agentUnreachable(thrown);
  });
  const client = await acceptClient(raw, REMOTE_COMMAND_V5, request.id);
  if (client === undefined) return streams.connection.close();
  return translateCommand(client, streams, request.signal);
}

/** The client tunnels SPDY in WebSocket messages. */
async function runTunnel(
  deps: StreamDeps,
  request: ApiRequest,
  raw: Upgrade,
  way: StreamTarget,
): Promise<void> {
  const { socket, head } = await dial(deps, request, way, PORT_FORWARD_V1);
  const client = await acceptClient(raw, PORT_FORWARD_TUNNEL, request.id);
  if (client === undefined) return void socket.destroy();
  const bytes = createMessageStream(client);
  if (head.length > 0) bytes.write(head);
  const abort = (): void => void socket.destroy();
  request.signal.addEventListener('abort', abort, { once: true });
  // Whichever side disconnects, the other one sees the end of its connection.
  await splice(bytes, socket);
  request.signal.removeEventListener('abort', abort);
}

/** @throws StatusError BadRequest for a request without an upgrade, or with the agent's message */
export function streamResponse(deps: StreamDeps, request: ApiRequest, way: StreamTarget): RawResponse {
  return {
    kind: 'raw',
    run(raw) {
      if (raw.kind === 'plain') throw new StatusError('BadRequest', 'Upgrade request required');
      const { headers } = request;
      if (headers.upgrade?.toLowerCase() === 'websocket') {
        const { protocols } = readSubprotocols(headers['sec-websocket-protocol'], deps.domain);
        const { command } = way;
        if (command !== undefined && protocols.includes(REMOTE_COMMAND_V5)) {
          return runCommand(deps, request, raw, { ...way, command });
        }
        if (command === undefined && protocols.includes(PORT_FORWARD_TUNNEL)) {
          return runTunnel(deps, request, raw, way);
        }
      }
      const { host, port, tls } = way.target;
      return proxyRequest(request, {
        target: { host, port, path: way.path },
        ...(tls === undefined ? {} : { tls }),
        headers: TO_AGENT,
        clock: deps.clock,
        domain: deps.domain,
        connectTimeoutMs: deps.connectTimeoutMs,
        remoteAddress: raw.message.socket.remoteAddress ?? '',
      }).run(raw);
    },
  };
}
